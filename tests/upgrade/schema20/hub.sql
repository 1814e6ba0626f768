PRAGMA foreign_keys = OFF;
BEGIN;
CREATE TABLE users (
    id         TEXT NOT NULL PRIMARY KEY,
    role       TEXT NOT NULL CHECK (role IN ('owner', 'member', 'guest')),
    name       TEXT NOT NULL,
    created_at INTEGER NOT NULL
, preset TEXT, limits TEXT) STRICT, WITHOUT ROWID;
CREATE TABLE identities (
    channel          TEXT NOT NULL,
    platform_user_id TEXT NOT NULL,
    user_id          TEXT NOT NULL REFERENCES users (id),
    via              TEXT NOT NULL,
    name             TEXT NOT NULL,
    username         TEXT,
    created_at       INTEGER NOT NULL, root_channel TEXT, root_platform_user_id TEXT, direct_address TEXT,
    PRIMARY KEY (channel, platform_user_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE refusals (
    channel          TEXT NOT NULL,
    platform_user_id TEXT NOT NULL,
    outcome          TEXT NOT NULL,
    answered_at      INTEGER NOT NULL,
    PRIMARY KEY (channel, platform_user_id, outcome)
) STRICT, WITHOUT ROWID;
CREATE TABLE noise (
    channel          TEXT NOT NULL,
    address          TEXT NOT NULL,
    platform_user_id TEXT NOT NULL,
    reason           TEXT NOT NULL,
    seen             INTEGER NOT NULL,
    first_at         INTEGER NOT NULL,
    last_at          INTEGER NOT NULL,
    PRIMARY KEY (channel, address, platform_user_id, reason)
) STRICT, WITHOUT ROWID;
CREATE TABLE threads (
    id             TEXT NOT NULL PRIMARY KEY,
    owner_id       TEXT NOT NULL REFERENCES users (id),
    channel        TEXT NOT NULL,
    scope          TEXT NOT NULL,
    address        TEXT NOT NULL,
    title          TEXT NOT NULL,
    preset         TEXT,
    created_at     INTEGER NOT NULL,
    last_active_at INTEGER NOT NULL,
    last_seq       INTEGER NOT NULL DEFAULT 0,  -- only grows: a position is never given twice
    last_turn      INTEGER NOT NULL DEFAULT 0
, limits TEXT) STRICT, WITHOUT ROWID;
CREATE TABLE thread_keys (
    owner_id  TEXT NOT NULL REFERENCES users (id),
    channel   TEXT NOT NULL,
    scope     TEXT NOT NULL,
    thread_id TEXT NOT NULL REFERENCES threads (id),
    PRIMARY KEY (owner_id, channel, scope)
) STRICT, WITHOUT ROWID;
CREATE TABLE sessions (
    user_id       TEXT NOT NULL PRIMARY KEY REFERENCES users (id),
    active_thread TEXT NOT NULL REFERENCES threads (id),
    created_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE turns (
    id             TEXT NOT NULL PRIMARY KEY,
    thread_id      TEXT NOT NULL REFERENCES threads (id),
    number         INTEGER NOT NULL,
    principal_id   TEXT NOT NULL REFERENCES users (id),
    state          TEXT NOT NULL CHECK (state IN ('running', 'waiting', 'done', 'failed', 'stopped', 'crashed')),
    attempts       INTEGER NOT NULL CHECK (attempts >= 0),   -- starts without progress
    first_seq      INTEGER NOT NULL,
    last_seq       INTEGER NOT NULL CHECK (last_seq >= first_seq),
    budget_from    INTEGER NOT NULL,                         -- rounds and tools count after this seq
    running_since  INTEGER,
    spent_us       INTEGER NOT NULL DEFAULT 0,
    stop_requested INTEGER NOT NULL DEFAULT 0 CHECK (stop_requested IN (0, 1)),
    error          TEXT,
    created_at     INTEGER NOT NULL,
    ended_at       INTEGER, reply_to TEXT, events TEXT NOT NULL DEFAULT '[]',
    CHECK ((state = 'running') = (running_since IS NOT NULL)),
    CHECK ((state IN ('running', 'waiting')) = (ended_at IS NULL))
) STRICT, WITHOUT ROWID;
CREATE TABLE entries (
    thread_id TEXT NOT NULL REFERENCES threads (id),
    seq       INTEGER NOT NULL,
    turn_id   TEXT REFERENCES turns (id),
    at        INTEGER NOT NULL,
    kind      TEXT NOT NULL CHECK (kind IN ('user', 'assistant', 'call', 'result', 'summary', 'note', 'operator')),
    text      TEXT NOT NULL,   -- a call's arguments as the model gave them
    call_id   TEXT,
    name      TEXT,            -- user: who speaks; call: the tool; result: its status
    extra     TEXT,            -- assistant: where it came from; summary: what it covers
    PRIMARY KEY (thread_id, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE inbox (
    id               INTEGER PRIMARY KEY,
    key              TEXT NOT NULL UNIQUE,
    kind             TEXT NOT NULL CHECK (kind IN ('message', 'choice', 'unreadable')),
    channel          TEXT NOT NULL,
    address          TEXT,
    scope            TEXT,
    user_id          TEXT REFERENCES users (id),
    platform_user_id TEXT,
    sender           TEXT,
    direct           INTEGER CHECK (direct IN (0, 1)),
    order_key        TEXT NOT NULL,
    text             TEXT,
    extra            TEXT,
    thread_id        TEXT REFERENCES threads (id),
    turn_id          TEXT REFERENCES turns (id),
    outcome          TEXT NOT NULL,
    answer           TEXT,
    sent_at          INTEGER NOT NULL,
    received_at      INTEGER NOT NULL
, counted INTEGER NOT NULL DEFAULT 0 CHECK (counted IN (0, 1)), album TEXT, wait_until INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE calls (
    id             TEXT NOT NULL PRIMARY KEY,
    thread_id      TEXT NOT NULL,
    seq            INTEGER NOT NULL,
    turn_id        TEXT NOT NULL REFERENCES turns (id),
    tool           TEXT NOT NULL,
    effect         TEXT NOT NULL CHECK (effect IN ('none', 'idempotent', 'effect')),
    state          TEXT NOT NULL CHECK (state IN
                       ('intent', 'waiting', 'approved', 'denied', 'running', 'unknown', 'ended')),
    status         TEXT CHECK (status IN ('ok', 'error', 'denied', 'cancelled', 'skipped', 'unknown')),
    binding        TEXT,
    prompt_id      TEXT,
    answer         TEXT,
    answered_by    TEXT,
    pid            INTEGER,
    process_group  INTEGER,
    started_ticks  INTEGER, edited TEXT, edited_by TEXT, round INTEGER, started_at INTEGER, ended_at INTEGER,
    FOREIGN KEY (thread_id, seq) REFERENCES entries (thread_id, seq),
    CHECK ((state = 'ended') = (status IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE TABLE prompts (
    id            TEXT NOT NULL PRIMARY KEY,
    kind          TEXT NOT NULL CHECK (kind IN
                      ('approval', 'question', 'unknown_outcome', 'budget', 'continue', 'menu')),
    state         TEXT NOT NULL CHECK (state IN ('open', 'closed')),
    thread_id     TEXT NOT NULL REFERENCES threads (id),
    turn_id       TEXT NOT NULL REFERENCES turns (id),
    call_id       TEXT REFERENCES calls (id),
    requester_id  TEXT NOT NULL REFERENCES users (id),
    title         TEXT NOT NULL,
    detail        TEXT NOT NULL,
    options       TEXT NOT NULL,   -- separated by spaces
    approvers     TEXT NOT NULL,   -- JSON list of user ids
    quorum        INTEGER NOT NULL CHECK (quorum >= 1),
    not_requester INTEGER NOT NULL CHECK (not_requester IN (0, 1)),
    binding       TEXT NOT NULL,
    tool          TEXT,
    pattern       TEXT,
    created_at    INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    outcome       TEXT,
    outcome_text  TEXT,
    closed_by     TEXT REFERENCES users (id),
    closed_at     INTEGER, labels TEXT, free_text INTEGER NOT NULL DEFAULT 0 CHECK (free_text IN (0, 1)), remind_at INTEGER, escalate_to TEXT NOT NULL DEFAULT '[]', escalate_at INTEGER, escalated INTEGER NOT NULL DEFAULT 0 CHECK (escalated IN (0, 1)), calls TEXT, secret TEXT, first_choice INTEGER NOT NULL DEFAULT 0, changed_at INTEGER, awaits INTEGER NOT NULL DEFAULT 0 CHECK (awaits IN (0, 1)),
    CHECK ((state = 'closed') = (closed_at IS NOT NULL)),
    CHECK (state = 'closed' OR (outcome IS NULL AND outcome_text IS NULL))
) STRICT, WITHOUT ROWID;
CREATE TABLE votes (
    prompt_id TEXT NOT NULL REFERENCES prompts (id),
    user_id   TEXT NOT NULL REFERENCES users (id),
    name      TEXT NOT NULL,
    option    TEXT NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (prompt_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE grants (
    id         TEXT NOT NULL PRIMARY KEY,
    user_id    TEXT NOT NULL REFERENCES users (id),
    tool       TEXT NOT NULL,
    pattern    TEXT,
    scope      TEXT NOT NULL CHECK (scope IN ('user', 'thread')),
    thread_id  TEXT REFERENCES threads (id),
    granted_by TEXT NOT NULL REFERENCES users (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    CHECK ((scope = 'thread') = (thread_id IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE TABLE memories (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id    TEXT NOT NULL REFERENCES users (id),
    key        TEXT NOT NULL,
    text       TEXT NOT NULL,
    created_at INTEGER NOT NULL, path TEXT,
    UNIQUE (user_id, key)
) STRICT;
CREATE VIRTUAL TABLE memory_terms USING fts5 (terms, content = '', tokenize = "unicode61 remove_diacritics 0");
CREATE TABLE probe (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    at     INTEGER NOT NULL,
    filler BLOB NOT NULL
) STRICT;
CREATE TABLE pairing_requests (
    id               TEXT NOT NULL PRIMARY KEY,
    code             TEXT NOT NULL,
    channel          TEXT NOT NULL,
    platform_user_id TEXT NOT NULL,
    name             TEXT NOT NULL,
    username         TEXT,
    address          TEXT NOT NULL,
    state            TEXT NOT NULL CHECK (state IN ('open', 'approved', 'rejected', 'lapsed')),
    created_at       INTEGER NOT NULL,
    expires_at       INTEGER NOT NULL,
    closed_at        INTEGER,
    closed_by        TEXT REFERENCES users (id),
    CHECK ((state = 'open') = (closed_at IS NULL)),
    CHECK ((state IN ('approved', 'rejected')) = (closed_by IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE TABLE link_offers (
    code                  TEXT NOT NULL PRIMARY KEY,
    user_id               TEXT NOT NULL REFERENCES users (id),
    root_channel          TEXT NOT NULL,
    root_platform_user_id TEXT NOT NULL,
    channel               TEXT NOT NULL,
    address               TEXT NOT NULL,
    created_at            INTEGER NOT NULL,
    expires_at            INTEGER NOT NULL,
    used_at               INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE wrong_codes (
    id      INTEGER PRIMARY KEY,
    guesser TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
CREATE TABLE "outbox" (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    channel    TEXT NOT NULL,
    address    TEXT NOT NULL,
    message    TEXT NOT NULL,                 -- JSON
    state      TEXT NOT NULL CHECK (state IN
                   ('queued', 'sending', 'sent', 'failed', 'ambiguous', 'streaming', 'replaced')),
    settled    INTEGER NOT NULL CHECK (settled IN (0, 1)),   -- nothing more will be done about it
    nonce      TEXT NOT NULL,
    refs       TEXT NOT NULL DEFAULT '[]',    -- JSON list, one per part sent
    order_key  TEXT,                          -- of the last part sent
    edit_of    INTEGER REFERENCES "outbox" (id),
    replaces   INTEGER REFERENCES "outbox" (id),
    prompt_id  TEXT REFERENCES prompts (id),
    turn_id    TEXT REFERENCES turns (id),
    event_id   INTEGER REFERENCES inbox (id),
    not_before INTEGER NOT NULL DEFAULT 0,
    attempts   INTEGER NOT NULL,
    repeats    INTEGER NOT NULL DEFAULT 0,
    error      TEXT,
    created_at INTEGER NOT NULL,
    sent_at    INTEGER, asked_at INTEGER, asked_by INTEGER, asked_after INTEGER, repeated_part INTEGER,
    CHECK (settled OR state IN ('queued', 'sending', 'ambiguous', 'streaming', 'replaced')),
    CHECK (NOT settled OR state IN ('sent', 'failed', 'ambiguous', 'replaced')),
    CHECK (state NOT IN ('streaming', 'replaced') OR turn_id IS NOT NULL)
) STRICT;
CREATE TABLE tool_settings (
    user_id    TEXT NOT NULL REFERENCES users (id),
    tool       TEXT NOT NULL,
    setting    TEXT NOT NULL CHECK (setting IN ('always_allow', 'ask_each_time', 'disabled')),
    changed_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, tool)
) STRICT, WITHOUT ROWID;
CREATE TABLE secrets (
    name       TEXT NOT NULL PRIMARY KEY,
    key_id     TEXT NOT NULL,
    sealed     BLOB NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE feed (
    thread_id TEXT NOT NULL REFERENCES threads (id),
    seq       INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    kind      TEXT NOT NULL CHECK (kind IN ('event', 'message', 'card', 'outcome')),
    turn_id   TEXT REFERENCES turns (id),
    event_id  INTEGER REFERENCES inbox (id),    -- a person's command, or answer in words
    outbox_id INTEGER REFERENCES outbox (id),   -- what the hub says itself
    prompt_id TEXT REFERENCES prompts (id),     -- a card, or what became of it
    PRIMARY KEY (thread_id, seq),
    CHECK ((kind = 'event') = (event_id IS NOT NULL)),
    CHECK ((kind = 'message') = (outbox_id IS NOT NULL)),
    CHECK ((kind IN ('card', 'outcome')) = (prompt_id IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE TABLE api_keys (
    hash       TEXT NOT NULL PRIMARY KEY,
    kind       TEXT NOT NULL CHECK (kind IN ('session', 'token')),
    user_id    TEXT NOT NULL REFERENCES users (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE routines (
    id              TEXT NOT NULL PRIMARY KEY,
    owner_id        TEXT NOT NULL REFERENCES users (id),
    name            TEXT NOT NULL,
    kind            TEXT NOT NULL CHECK (kind IN ('cron', 'event', 'system_event', 'webhook', 'manual')),
    definition      TEXT NOT NULL,
    enabled         INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    paused_because  TEXT,                                -- why the hub itself paused it
    thread_id       TEXT REFERENCES threads (id),        -- where it was made
    webhook_path    TEXT,
    cooldown_us     INTEGER NOT NULL CHECK (cooldown_us >= 0),
    max_concurrent  INTEGER NOT NULL CHECK (max_concurrent >= 1),
    dedup_window_us INTEGER NOT NULL DEFAULT 0,
    reruns          INTEGER NOT NULL DEFAULT 0 CHECK (reruns IN (0, 1)),   -- a run cut off by a crash starts again
    next_slot_at    INTEGER,
    backoff_until   INTEGER NOT NULL DEFAULT 0,
    last_claimed_at INTEGER,
    last_ended_at   INTEGER,
    run_count       INTEGER NOT NULL DEFAULT 0,
    failures        INTEGER NOT NULL DEFAULT 0,          -- one after the other, up to now
    skipped_slots   INTEGER NOT NULL DEFAULT 0,
    state           TEXT NOT NULL DEFAULT '',            -- the routine's own document
    tested_as       TEXT,                                -- fingerprint of what last ended well
    version         INTEGER NOT NULL DEFAULT 1,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL, daily_runs INTEGER, daily_tokens INTEGER, daily_micro_usd INTEGER, budget_told_at INTEGER, own_place TEXT,
    UNIQUE (owner_id, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE routine_runs (
    id             TEXT NOT NULL PRIMARY KEY,
    routine_id     TEXT NOT NULL REFERENCES routines (id),
    key            TEXT NOT NULL,        -- the slot, event, delivery or press that fired it
    kind           TEXT NOT NULL,
    input          TEXT NOT NULL,        -- JSON
    content_hash   TEXT,
    state          TEXT NOT NULL CHECK (state IN
                       ('waiting', 'running', 'ok', 'attention', 'failed', 'interrupted', 'skipped')),
    due_at         INTEGER NOT NULL,
    not_before     INTEGER NOT NULL,
    attempts       INTEGER NOT NULL DEFAULT 0,
    lease_until    INTEGER,
    started_at     INTEGER,
    ended_at       INTEGER,
    result         TEXT,
    error          TEXT,
    input_tokens   INTEGER NOT NULL DEFAULT 0,
    output_tokens  INTEGER NOT NULL DEFAULT 0,
    notice         TEXT,
    notice_state   TEXT NOT NULL DEFAULT 'none' CHECK (notice_state IN ('none', 'due', 'sent', 'dropped')),
    notice_at      INTEGER,
    menu_id        TEXT,                 -- what the notice's buttons are known by
    created_at     INTEGER NOT NULL, cost_micro_usd INTEGER NOT NULL DEFAULT 0, scope TEXT, missing_grants TEXT,
    CHECK ((state IN ('waiting', 'running')) = (ended_at IS NULL)),
    CHECK ((state = 'running') = (lease_until IS NOT NULL)),
    CHECK ((notice_state = 'none') = (notice IS NULL)),
    UNIQUE (routine_id, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE notices (
    key        TEXT NOT NULL PRIMARY KEY,
    outbox_id  INTEGER NOT NULL REFERENCES outbox (id),   -- the one tried last
    elsewhere  TEXT NOT NULL,                             -- JSON list: where it goes if that one is refused
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE tool_halt (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    by TEXT NOT NULL REFERENCES users (id),
    at INTEGER NOT NULL
) STRICT;
CREATE TABLE tool_uses (
    id      INTEGER PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    tool    TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
CREATE TABLE audit (
    id        INTEGER PRIMARY KEY,   -- without a gap: the next one is one more
    at        INTEGER NOT NULL,
    kind      TEXT NOT NULL,
    actor     TEXT,                  -- a user's id; null: the hub itself
    subject   TEXT NOT NULL,         -- the call, prompt, grant, account, secret … it is about
    thread_id TEXT,
    detail    TEXT NOT NULL,         -- JSON
    key_id    TEXT NOT NULL,         -- of the key that sealed it
    seal      BLOB NOT NULL,
    link      TEXT                   -- null until it is chained
) STRICT;
CREATE TABLE audit_checkpoint (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    last_id INTEGER NOT NULL,
    link    TEXT NOT NULL,
    at      INTEGER NOT NULL,
    key_id  TEXT NOT NULL,
    seal    BLOB NOT NULL
) STRICT;
CREATE TABLE run_steps (
    run_id        TEXT NOT NULL REFERENCES routine_runs (id) ON DELETE CASCADE,
    seq           INTEGER NOT NULL,
    at            INTEGER NOT NULL,
    kind          TEXT NOT NULL CHECK (kind IN ('user', 'assistant', 'call', 'result', 'note')),
    text          TEXT NOT NULL,
    call_id       TEXT,
    name          TEXT,
    extra         TEXT,
    effect        TEXT CHECK (effect IN ('none', 'idempotent', 'effect')),
    state         TEXT CHECK (state IN ('intent', 'running', 'ended')),
    pid           INTEGER,
    process_group INTEGER,
    started_ticks INTEGER,
    started_at    INTEGER,
    ended_at      INTEGER,
    PRIMARY KEY (run_id, seq),
    CHECK ((kind = 'call') = (state IS NOT NULL AND effect IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE TABLE outbound_judged (
    outbox_id INTEGER PRIMARY KEY REFERENCES outbox (id),
    at        INTEGER NOT NULL
) STRICT;
CREATE TABLE hooked_sessions (
    user_id  TEXT NOT NULL PRIMARY KEY REFERENCES users (id),
    began_at INTEGER NOT NULL,
    ended_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE model_calls (
    user_id TEXT NOT NULL PRIMARY KEY REFERENCES users (id),
    day     TEXT NOT NULL,   -- as YYYY-MM-DD, in the hub's time zone
    calls   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
DELETE FROM users;
INSERT INTO users VALUES ('01a20cad-8f24-73fd-b417-ce10156f63b0', 'member', 'Ben', 1795509030703156, NULL, NULL);
INSERT INTO users VALUES ('01a20cad-9e0b-7b28-a913-43f2b558b7d1', 'member', 'Dan', 1795509034508080, NULL, NULL);
INSERT INTO users VALUES ('01a20cad-aa62-747d-88a2-ee876325e4bd', 'member', 'Eva', 1795509037667212, NULL, NULL);
INSERT INTO users VALUES ('01a20cad-b65e-7458-bd51-9d71d0358bc1', 'member', 'Lea', 1795509040739191, NULL, NULL);
INSERT INTO users VALUES ('owner', 'owner', 'owner', 1795509024858674, NULL, NULL);
DELETE FROM identities;
INSERT INTO identities VALUES ('telegram', '10', '01a20cad-9e0b-7b28-a913-43f2b558b7d1', 'paired', '10', NULL, 1795509034524434, NULL, NULL, '10');
INSERT INTO identities VALUES ('telegram', '11', '01a20cad-aa62-747d-88a2-ee876325e4bd', 'paired', '11', NULL, 1795509037684052, NULL, NULL, '11');
INSERT INTO identities VALUES ('telegram', '7', 'owner', 'config', 'Olivia', NULL, 1795509070670615, NULL, NULL, '7');
INSERT INTO identities VALUES ('telegram', '8', '01a20cad-8f24-73fd-b417-ce10156f63b0', 'paired', '8', NULL, 1795509030762332, NULL, NULL, '8');
INSERT INTO identities VALUES ('telegram', '9', '01a20cad-b65e-7458-bd51-9d71d0358bc1', 'paired', '9', NULL, 1795509040765355, NULL, NULL, '9');
DELETE FROM refusals;
DELETE FROM noise;
DELETE FROM threads;
INSERT INTO threads VALUES ('01a20cae-2bbb-70f4-9559-bc5a0b49dec6', 'owner', 'telegram', '=-1000002000001:10', '-1000002000001:10', 'please run: echo granted >> granted.txt', NULL, 1795509070779322, 1795509070779520, 7, 1, NULL);
INSERT INTO threads VALUES ('01a20cae-3c9e-700b-9b74-06902ebccd52', 'owner', 'telegram', '=-1000002000001:5', '-1000002000001:5', 'please run: echo unknown >> unknown.txt && sleep 600', NULL, 1795509075102621, 1795509075106236, 6, 1, NULL);
INSERT INTO threads VALUES ('01a20cae-7660-7bc0-8ddb-456212def4d3', 'owner', 'telegram', '=-1000002000001:2', '-1000002000001:2', 'please run: echo approved >> approved.txt', NULL, 1795509089888803, 1795509089889115, 4, 1, NULL);
INSERT INTO threads VALUES ('01a20cae-7691-7a50-9408-cdac30ef58f8', 'owner', 'telegram', '=-1000002000001:3', '-1000002000001:3', 'please run: echo one >> joint.txt', NULL, 1795509089937572, 1795509089937634, 5, 1, NULL);
INSERT INTO threads VALUES ('01a20cae-76e5-7b91-bf42-a849f2955ef8', 'owner', 'telegram', '=-1000002000001:4', '-1000002000001:4', 'please call: ask_user {"question": "Which color?", "choices": ["red", "dark gree', NULL, 1795509090022020, 1795509090022121, 4, 1, NULL);
INSERT INTO threads VALUES ('01a20cae-7722-7ba1-ad2a-e2edd3d63e11', 'owner', 'telegram', '=-1000002000001:6', '-1000002000001:6', 'count for ever', NULL, 1795509090082119, 1795509090082223, 11, 1, NULL);
INSERT INTO threads VALUES ('01a20cae-7765-751a-bac0-d3c80ef545e8', '01a20cad-8f24-73fd-b417-ce10156f63b0', 'telegram', '=8', '8', 'please call: write_file {"path": "quorum.txt", "content": "by two\n"}', NULL, 1795509090149659, 1795509090149744, 5, 1, NULL);
INSERT INTO threads VALUES ('01a20cae-77b9-71cb-9055-490dc615a488', 'owner', 'telegram', '=-1000002000001:7', '-1000002000001:7', 'please run: echo running >> running.txt && sleep 600', NULL, 1795509090233149, 1795509090233243, 5, 1, NULL);
INSERT INTO threads VALUES ('01a20cae-78dc-7245-8224-f3ed912f120b', '01a20cad-9e0b-7b28-a913-43f2b558b7d1', 'telegram', '=10', '10', 'say: Sent to Dan.', NULL, 1795509090524920, 1795509090524987, 2, 1, NULL);
INSERT INTO threads VALUES ('01a20cae-78dc-7deb-aa2a-0a15bdc28ced', 'owner', 'telegram', '=-1000002000001:8', '-1000002000001:8', 'hold the turn', NULL, 1795509090524206, 1795509090524317, 1, 1, NULL);
INSERT INTO threads VALUES ('01a20cae-78fa-7170-96f2-bb6cc2db00c6', 'owner', 'telegram', '=-1000002000001:9', '-1000002000001:9', 'tell the story', NULL, 1795509090554659, 1795509090554808, 1, 1, NULL);
INSERT INTO threads VALUES ('01a20cae-7cfd-72c9-8c81-f81fc2716151', 'owner', 'telegram', '=7', '7', 'please call: tool_auth {"name": "shed", "purpose": "to open the shed"}', NULL, 1795509091581862, 1795509091581930, 4, 1, NULL);
INSERT INTO threads VALUES ('01a20cae-7d4b-7583-82c2-f47e0ec85689', '01a20cad-b65e-7458-bd51-9d71d0358bc1', 'telegram', '=9', '9', 'say: Sent to Lea.', NULL, 1795509091659310, 1795509091659371, 2, 1, NULL);
INSERT INTO threads VALUES ('01a20cae-7d4b-7c3d-8696-1ad75e83f629', '01a20cad-aa62-747d-88a2-ee876325e4bd', 'telegram', '=11', '11', 'please run: echo late >> late.txt', NULL, 1795509091659661, 1795509091659691, 4, 1, NULL);
DELETE FROM thread_keys;
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:10', '01a20cae-2bbb-70f4-9559-bc5a0b49dec6');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:5', '01a20cae-3c9e-700b-9b74-06902ebccd52');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:2', '01a20cae-7660-7bc0-8ddb-456212def4d3');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:3', '01a20cae-7691-7a50-9408-cdac30ef58f8');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:4', '01a20cae-76e5-7b91-bf42-a849f2955ef8');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:6', '01a20cae-7722-7ba1-ad2a-e2edd3d63e11');
INSERT INTO thread_keys VALUES ('01a20cad-8f24-73fd-b417-ce10156f63b0', 'telegram', '=8', '01a20cae-7765-751a-bac0-d3c80ef545e8');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:7', '01a20cae-77b9-71cb-9055-490dc615a488');
INSERT INTO thread_keys VALUES ('01a20cad-9e0b-7b28-a913-43f2b558b7d1', 'telegram', '=10', '01a20cae-78dc-7245-8224-f3ed912f120b');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:8', '01a20cae-78dc-7deb-aa2a-0a15bdc28ced');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:9', '01a20cae-78fa-7170-96f2-bb6cc2db00c6');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=7', '01a20cae-7cfd-72c9-8c81-f81fc2716151');
INSERT INTO thread_keys VALUES ('01a20cad-b65e-7458-bd51-9d71d0358bc1', 'telegram', '=9', '01a20cae-7d4b-7583-82c2-f47e0ec85689');
INSERT INTO thread_keys VALUES ('01a20cad-aa62-747d-88a2-ee876325e4bd', 'telegram', '=11', '01a20cae-7d4b-7c3d-8696-1ad75e83f629');
DELETE FROM sessions;
INSERT INTO sessions VALUES ('01a20cad-8f24-73fd-b417-ce10156f63b0', '01a20cae-7765-751a-bac0-d3c80ef545e8', 1795509090149704);
INSERT INTO sessions VALUES ('01a20cad-9e0b-7b28-a913-43f2b558b7d1', '01a20cae-78dc-7245-8224-f3ed912f120b', 1795509090524960);
INSERT INTO sessions VALUES ('01a20cad-aa62-747d-88a2-ee876325e4bd', '01a20cae-7d4b-7c3d-8696-1ad75e83f629', 1795509091659679);
INSERT INTO sessions VALUES ('01a20cad-b65e-7458-bd51-9d71d0358bc1', '01a20cae-7d4b-7583-82c2-f47e0ec85689', 1795509091659339);
INSERT INTO sessions VALUES ('owner', '01a20cae-7cfd-72c9-8c81-f81fc2716151', 1795509070779469);
DELETE FROM turns;
INSERT INTO turns VALUES ('01a20cae-2bbb-766f-927b-cce29eb57c7a', '01a20cae-2bbb-70f4-9559-bc5a0b49dec6', 1, 'owner', 'done', 0, 1, 7, 1, NULL, 4198115, 0, NULL, 1795509070779520, 1795509075014440, '-1000002000001:11', '["tg:123456:m:-1000002000001:11"]');
INSERT INTO turns VALUES ('01a20cae-3c9e-77f6-9353-dc93c9994bf5', '01a20cae-3c9e-700b-9b74-06902ebccd52', 1, 'owner', 'waiting', 0, 1, 3, 1, NULL, 13654154, 0, NULL, 1795509075106236, NULL, '-1000002000001:14', '["tg:123456:m:-1000002000001:14"]');
INSERT INTO turns VALUES ('01a20cae-7660-77b6-99ed-a9b61d18b0a1', '01a20cae-7660-7bc0-8ddb-456212def4d3', 1, 'owner', 'waiting', 0, 1, 3, 1, NULL, 24340, 0, NULL, 1795509089889115, NULL, '-1000002000001:17', '["tg:123456:m:-1000002000001:17"]');
INSERT INTO turns VALUES ('01a20cae-7691-70f3-8920-f2a45a7618a4', '01a20cae-7691-7a50-9408-cdac30ef58f8', 1, 'owner', 'waiting', 0, 1, 4, 1, NULL, 60506, 0, NULL, 1795509089937634, NULL, '-1000002000001:19', '["tg:123456:m:-1000002000001:19"]');
INSERT INTO turns VALUES ('01a20cae-76e5-7435-b9b1-d460a6026c24', '01a20cae-76e5-7b91-bf42-a849f2955ef8', 1, 'owner', 'waiting', 0, 1, 3, 1, NULL, 21578, 0, NULL, 1795509090022121, NULL, '-1000002000001:21', '["tg:123456:m:-1000002000001:21"]');
INSERT INTO turns VALUES ('01a20cae-7722-7f44-a239-e48a4eebab6e', '01a20cae-7722-7ba1-ad2a-e2edd3d63e11', 1, 'owner', 'waiting', 0, 1, 10, 1, NULL, 51962, 0, NULL, 1795509090082223, NULL, '-1000002000001:23', '["tg:123456:m:-1000002000001:23"]');
INSERT INTO turns VALUES ('01a20cae-7765-78e8-baa2-6ddf23062433', '01a20cae-7765-751a-bac0-d3c80ef545e8', 1, '01a20cad-8f24-73fd-b417-ce10156f63b0', 'waiting', 0, 1, 3, 1, NULL, 27487, 0, NULL, 1795509090149744, NULL, NULL, '["tg:123456:m:8:12"]');
INSERT INTO turns VALUES ('01a20cae-77b9-70cd-a868-8f1c6b3ee644', '01a20cae-77b9-71cb-9055-490dc615a488', 1, 'owner', 'running', 1, 1, 3, 1, 1795509090297941, 28664, 0, NULL, 1795509090233243, NULL, '-1000002000001:25', '["tg:123456:m:-1000002000001:25"]');
INSERT INTO turns VALUES ('01a20cae-78dc-708e-b70d-f867eabaa75c', '01a20cae-78dc-7245-8224-f3ed912f120b', 1, '01a20cad-9e0b-7b28-a913-43f2b558b7d1', 'done', 1, 1, 2, 1, NULL, 19599, 0, NULL, 1795509090524987, 1795509090544586, NULL, '["tg:123456:m:10:18"]');
INSERT INTO turns VALUES ('01a20cae-78dc-7759-924b-cd3c53a1aabf', '01a20cae-78dc-7deb-aa2a-0a15bdc28ced', 1, 'owner', 'running', 1, 1, 1, 1, 1795509090524317, 0, 0, NULL, 1795509090524317, NULL, '-1000002000001:27', '["tg:123456:m:-1000002000001:27"]');
INSERT INTO turns VALUES ('01a20cae-78fa-7d25-9ec3-feffee65082d', '01a20cae-78fa-7170-96f2-bb6cc2db00c6', 1, 'owner', 'running', 1, 1, 1, 1, 1795509090554808, 0, 0, NULL, 1795509090554808, NULL, '-1000002000001:28', '["tg:123456:m:-1000002000001:28"]');
INSERT INTO turns VALUES ('01a20cae-7cfd-773b-9e1e-98b42fa68e11', '01a20cae-7cfd-72c9-8c81-f81fc2716151', 1, 'owner', 'waiting', 0, 1, 3, 1, NULL, 38904, 0, NULL, 1795509091581930, NULL, NULL, '["tg:123456:m:7:20"]');
INSERT INTO turns VALUES ('01a20cae-7d4b-7167-a664-9e4921ec2e4f', '01a20cae-7d4b-7c3d-8696-1ad75e83f629', 1, '01a20cad-aa62-747d-88a2-ee876325e4bd', 'waiting', 0, 1, 3, 1, NULL, 53137, 0, NULL, 1795509091659691, NULL, NULL, '["tg:123456:m:11:23"]');
INSERT INTO turns VALUES ('01a20cae-7d4b-7fcf-ace5-e58827012919', '01a20cae-7d4b-7583-82c2-f47e0ec85689', 1, '01a20cad-b65e-7458-bd51-9d71d0358bc1', 'done', 1, 1, 2, 1, NULL, 27871, 0, NULL, 1795509091659371, 1795509091687242, NULL, '["tg:123456:m:9:22"]');
DELETE FROM entries;
INSERT INTO entries VALUES ('01a20cae-2bbb-70f4-9559-bc5a0b49dec6', 1, '01a20cae-2bbb-766f-927b-cce29eb57c7a', 1795509070779705, 'user', 'please run: echo granted >> granted.txt', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20cae-2bbb-70f4-9559-bc5a0b49dec6', 2, '01a20cae-2bbb-766f-927b-cce29eb57c7a', 1795509070820553, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20cae-2bbb-70f4-9559-bc5a0b49dec6', 3, '01a20cae-2bbb-766f-927b-cce29eb57c7a', 1795509070820553, 'call', '{"command":"echo granted >> granted.txt"}', '01a20cae-2be4-7a4e-9a01-35e61687d639', 'shell', NULL);
INSERT INTO entries VALUES ('01a20cae-2bbb-70f4-9559-bc5a0b49dec6', 6, '01a20cae-2bbb-766f-927b-cce29eb57c7a', 1795509071264720, 'result', '<tool_output name="shell" id="5abdeba3666825f380a94d2a">
exit code: 0

</tool_output id="5abdeba3666825f380a94d2a">', '01a20cae-2be4-7a4e-9a01-35e61687d639', 'ok', NULL);
INSERT INTO entries VALUES ('01a20cae-2bbb-70f4-9559-bc5a0b49dec6', 7, '01a20cae-2bbb-766f-927b-cce29eb57c7a', 1795509075014345, 'assistant', 'Done: <tool_output name="shell" id="5abdeba3666825f380a94d2a">
exit code: 0

</tool_output id="5abdeba3666825f380a94d2a">', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20cae-3c9e-700b-9b74-06902ebccd52', 1, '01a20cae-3c9e-77f6-9353-dc93c9994bf5', 1795509075106455, 'user', 'please run: echo unknown >> unknown.txt && sleep 600', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20cae-3c9e-700b-9b74-06902ebccd52', 2, '01a20cae-3c9e-77f6-9353-dc93c9994bf5', 1795509075122411, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20cae-3c9e-700b-9b74-06902ebccd52', 3, '01a20cae-3c9e-77f6-9353-dc93c9994bf5', 1795509075122411, 'call', '{"command":"echo unknown >> unknown.txt && sleep 600"}', '01a20cae-3cb2-729f-bfcb-c7e20f54c100', 'shell', NULL);
INSERT INTO entries VALUES ('01a20cae-7660-7bc0-8ddb-456212def4d3', 1, '01a20cae-7660-77b6-99ed-a9b61d18b0a1', 1795509089889421, 'user', 'please run: echo approved >> approved.txt', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20cae-7660-7bc0-8ddb-456212def4d3', 2, '01a20cae-7660-77b6-99ed-a9b61d18b0a1', 1795509089908888, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20cae-7660-7bc0-8ddb-456212def4d3', 3, '01a20cae-7660-77b6-99ed-a9b61d18b0a1', 1795509089908888, 'call', '{"command":"echo approved >> approved.txt"}', '01a20cae-7674-7792-9b63-d035b6dd7e26', 'shell', NULL);
INSERT INTO entries VALUES ('01a20cae-7691-7a50-9408-cdac30ef58f8', 1, '01a20cae-7691-70f3-8920-f2a45a7618a4', 1795509089937685, 'user', 'please run: echo one >> joint.txt
please run: echo two >> joint.txt', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20cae-7691-7a50-9408-cdac30ef58f8', 2, '01a20cae-7691-70f3-8920-f2a45a7618a4', 1795509089976357, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20cae-7691-7a50-9408-cdac30ef58f8', 3, '01a20cae-7691-70f3-8920-f2a45a7618a4', 1795509089976357, 'call', '{"command":"echo one >> joint.txt"}', '01a20cae-76b8-75de-90fe-57e9b64b0030', 'shell', NULL);
INSERT INTO entries VALUES ('01a20cae-7691-7a50-9408-cdac30ef58f8', 4, '01a20cae-7691-70f3-8920-f2a45a7618a4', 1795509089976357, 'call', '{"command":"echo two >> joint.txt"}', '01a20cae-76b8-77b8-be70-7e9b1bbcc26e', 'shell', NULL);
INSERT INTO entries VALUES ('01a20cae-76e5-7b91-bf42-a849f2955ef8', 1, '01a20cae-76e5-7435-b9b1-d460a6026c24', 1795509090022205, 'user', 'please call: ask_user {"question": "Which color?", "choices": ["red", "dark green"]}', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20cae-76e5-7b91-bf42-a849f2955ef8', 2, '01a20cae-76e5-7435-b9b1-d460a6026c24', 1795509090041254, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20cae-76e5-7b91-bf42-a849f2955ef8', 3, '01a20cae-76e5-7435-b9b1-d460a6026c24', 1795509090041254, 'call', '{"question":"Which color?","choices":["red","dark green"]}', '01a20cae-76f8-7ec4-889d-ed786a098589', 'ask_user', NULL);
INSERT INTO entries VALUES ('01a20cae-7722-7ba1-ad2a-e2edd3d63e11', 1, '01a20cae-7722-7f44-a239-e48a4eebab6e', 1795509090082313, 'user', 'count for ever', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20cae-7722-7ba1-ad2a-e2edd3d63e11', 2, '01a20cae-7722-7f44-a239-e48a4eebab6e', 1795509090105748, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20cae-7722-7ba1-ad2a-e2edd3d63e11', 3, '01a20cae-7722-7f44-a239-e48a4eebab6e', 1795509090105748, 'call', '{}', '01a20cae-7739-74ae-9fd3-cea443a453c0', 'time', NULL);
INSERT INTO entries VALUES ('01a20cae-7722-7ba1-ad2a-e2edd3d63e11', 4, '01a20cae-7722-7f44-a239-e48a4eebab6e', 1795509090113089, 'result', '<tool_output name="time" id="6c9e6eb8fec168e942181286">
Tuesday, 2026-11-24 08:31:30+00:00 (UTC)
</tool_output id="6c9e6eb8fec168e942181286">', '01a20cae-7739-74ae-9fd3-cea443a453c0', 'ok', NULL);
INSERT INTO entries VALUES ('01a20cae-7722-7ba1-ad2a-e2edd3d63e11', 5, '01a20cae-7722-7f44-a239-e48a4eebab6e', 1795509090120453, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20cae-7722-7ba1-ad2a-e2edd3d63e11', 6, '01a20cae-7722-7f44-a239-e48a4eebab6e', 1795509090120453, 'call', '{}', '01a20cae-7748-729b-88a5-06528a799bb8', 'time', NULL);
INSERT INTO entries VALUES ('01a20cae-7722-7ba1-ad2a-e2edd3d63e11', 7, '01a20cae-7722-7f44-a239-e48a4eebab6e', 1795509090122818, 'result', '<tool_output name="time" id="6c9e6eb8fec168e942181286">
Tuesday, 2026-11-24 08:31:30+00:00 (UTC)
</tool_output id="6c9e6eb8fec168e942181286">', '01a20cae-7748-729b-88a5-06528a799bb8', 'ok', NULL);
INSERT INTO entries VALUES ('01a20cae-7722-7ba1-ad2a-e2edd3d63e11', 8, '01a20cae-7722-7f44-a239-e48a4eebab6e', 1795509090129598, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20cae-7722-7ba1-ad2a-e2edd3d63e11', 9, '01a20cae-7722-7f44-a239-e48a4eebab6e', 1795509090129598, 'call', '{}', '01a20cae-7751-790c-a442-eb2a08c4db34', 'time', NULL);
INSERT INTO entries VALUES ('01a20cae-7722-7ba1-ad2a-e2edd3d63e11', 10, '01a20cae-7722-7f44-a239-e48a4eebab6e', 1795509090133074, 'result', '<tool_output name="time" id="6c9e6eb8fec168e942181286">
Tuesday, 2026-11-24 08:31:30+00:00 (UTC)
</tool_output id="6c9e6eb8fec168e942181286">', '01a20cae-7751-790c-a442-eb2a08c4db34', 'ok', NULL);
INSERT INTO entries VALUES ('01a20cae-7765-751a-bac0-d3c80ef545e8', 1, '01a20cae-7765-78e8-baa2-6ddf23062433', 1795509090149826, 'user', 'please call: write_file {"path": "quorum.txt", "content": "by two\n"}', NULL, NULL, NULL);
INSERT INTO entries VALUES ('01a20cae-7765-751a-bac0-d3c80ef545e8', 2, '01a20cae-7765-78e8-baa2-6ddf23062433', 1795509090154916, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20cae-7765-751a-bac0-d3c80ef545e8', 3, '01a20cae-7765-78e8-baa2-6ddf23062433', 1795509090154916, 'call', '{"path":"quorum.txt","content":"by two\n"}', '01a20cae-776a-76e7-95f0-527aa3e4c447', 'write_file', NULL);
INSERT INTO entries VALUES ('01a20cae-77b9-71cb-9055-490dc615a488', 1, '01a20cae-77b9-70cd-a868-8f1c6b3ee644', 1795509090233324, 'user', 'please run: echo running >> running.txt && sleep 600', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20cae-77b9-71cb-9055-490dc615a488', 2, '01a20cae-77b9-70cd-a868-8f1c6b3ee644', 1795509090247668, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20cae-77b9-71cb-9055-490dc615a488', 3, '01a20cae-77b9-70cd-a868-8f1c6b3ee644', 1795509090247668, 'call', '{"command":"echo running >> running.txt && sleep 600"}', '01a20cae-77c7-7bed-b625-76af9e9459c9', 'shell', NULL);
INSERT INTO entries VALUES ('01a20cae-78dc-7245-8224-f3ed912f120b', 1, '01a20cae-78dc-708e-b70d-f867eabaa75c', 1795509090525054, 'user', 'say: Sent to Dan.', NULL, NULL, NULL);
INSERT INTO entries VALUES ('01a20cae-78dc-7245-8224-f3ed912f120b', 2, '01a20cae-78dc-708e-b70d-f867eabaa75c', 1795509090544512, 'assistant', 'Sent to Dan.', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20cae-78dc-7deb-aa2a-0a15bdc28ced', 1, '01a20cae-78dc-7759-924b-cd3c53a1aabf', 1795509090524445, 'user', 'hold the turn', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20cae-78fa-7170-96f2-bb6cc2db00c6', 1, '01a20cae-78fa-7d25-9ec3-feffee65082d', 1795509090554879, 'user', 'tell the story', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20cae-7cfd-72c9-8c81-f81fc2716151', 1, '01a20cae-7cfd-773b-9e1e-98b42fa68e11', 1795509091581998, 'user', 'please call: tool_auth {"name": "shed", "purpose": "to open the shed"}', NULL, NULL, NULL);
INSERT INTO entries VALUES ('01a20cae-7cfd-72c9-8c81-f81fc2716151', 2, '01a20cae-7cfd-773b-9e1e-98b42fa68e11', 1795509091613977, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20cae-7cfd-72c9-8c81-f81fc2716151', 3, '01a20cae-7cfd-773b-9e1e-98b42fa68e11', 1795509091613977, 'call', '{"name":"shed","purpose":"to open the shed"}', '01a20cae-7d1d-7563-bdee-47cd45aba09b', 'tool_auth', NULL);
INSERT INTO entries VALUES ('01a20cae-7d4b-7583-82c2-f47e0ec85689', 1, '01a20cae-7d4b-7fcf-ace5-e58827012919', 1795509091659429, 'user', 'say: Sent to Lea.', NULL, NULL, NULL);
INSERT INTO entries VALUES ('01a20cae-7d4b-7583-82c2-f47e0ec85689', 2, '01a20cae-7d4b-7fcf-ace5-e58827012919', 1795509091687205, 'assistant', 'Sent to Lea.', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20cae-7d4b-7c3d-8696-1ad75e83f629', 1, '01a20cae-7d4b-7167-a664-9e4921ec2e4f', 1795509091659729, 'user', 'please run: echo late >> late.txt', NULL, NULL, NULL);
INSERT INTO entries VALUES ('01a20cae-7d4b-7c3d-8696-1ad75e83f629', 2, '01a20cae-7d4b-7167-a664-9e4921ec2e4f', 1795509091686992, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20cae-7d4b-7c3d-8696-1ad75e83f629', 3, '01a20cae-7d4b-7167-a664-9e4921ec2e4f', 1795509091686992, 'call', '{"command":"echo late >> late.txt"}', '01a20cae-7d62-7add-b819-a4daecc1c542', 'shell', NULL);
DELETE FROM inbox;
INSERT INTO inbox VALUES (1, 'tg:123456:m:7:1', 'message', 'telegram', '7', '=7', 'owner', '7', 'Olivia', 1, '00000000000000000001', '/start', NULL, NULL, NULL, 'command: /start', NULL, 1795509070000000, 1795509070672327, 0, NULL, 0);
INSERT INTO inbox VALUES (2, 'tg:123456:m:8:3', 'message', 'telegram', '8', '=8', '01a20cad-8f24-73fd-b417-ce10156f63b0', '8', 'Ben', 1, '00000000000000000003', '/start', NULL, NULL, NULL, 'command: /start', NULL, 1795509070000000, 1795509070699906, 1, NULL, 0);
INSERT INTO inbox VALUES (3, 'tg:123456:m:9:5', 'message', 'telegram', '9', '=9', '01a20cad-b65e-7458-bd51-9d71d0358bc1', '9', 'Lea', 1, '00000000000000000005', '/start', NULL, NULL, NULL, 'command: /start', NULL, 1795509070000000, 1795509070724504, 1, NULL, 0);
INSERT INTO inbox VALUES (4, 'tg:123456:m:10:7', 'message', 'telegram', '10', '=10', '01a20cad-9e0b-7b28-a913-43f2b558b7d1', '10', 'Dan', 1, '00000000000000000007', '/start', NULL, NULL, NULL, 'command: /start', NULL, 1795509070000000, 1795509070736858, 1, NULL, 0);
INSERT INTO inbox VALUES (5, 'tg:123456:m:11:9', 'message', 'telegram', '11', '=11', '01a20cad-aa62-747d-88a2-ee876325e4bd', '11', 'Eva', 1, '00000000000000000009', '/start', NULL, NULL, NULL, 'command: /start', NULL, 1795509070000000, 1795509070757437, 1, NULL, 0);
INSERT INTO inbox VALUES (6, 'tg:123456:m:-1000002000001:11', 'message', 'telegram', '-1000002000001:10', '=-1000002000001:10', 'owner', '7', 'Olivia', 0, '00000000000000000011', 'please run: echo granted >> granted.txt', '{"ref":"-1000002000001:11"}', '01a20cae-2bbb-70f4-9559-bc5a0b49dec6', '01a20cae-2bbb-766f-927b-cce29eb57c7a', 'turn 1', NULL, 1795509070000000, 1795509070779857, 0, NULL, 0);
INSERT INTO inbox VALUES (7, 'tg:123456:cb:4382000000000000001', 'choice', 'telegram', '-1000002000001:10', NULL, 'owner', '7', 'Olivia', 0, '', 'z3xsf69zvf:2', NULL, '01a20cae-2bbb-70f4-9559-bc5a0b49dec6', NULL, 'answer: z3xsf69zvf', 'Always approved by owner', 1795509070943902, 1795509070948261, 0, NULL, 0);
INSERT INTO inbox VALUES (8, 'tg:123456:m:-1000002000001:14', 'message', 'telegram', '-1000002000001:5', '=-1000002000001:5', 'owner', '7', 'Olivia', 0, '00000000000000000014', 'please run: echo unknown >> unknown.txt && sleep 600', '{"ref":"-1000002000001:14"}', '01a20cae-3c9e-700b-9b74-06902ebccd52', '01a20cae-3c9e-77f6-9353-dc93c9994bf5', 'turn 1', NULL, 1795509075000000, 1795509075106682, 0, NULL, 0);
INSERT INTO inbox VALUES (9, 'tg:123456:cb:4382000000000000002', 'choice', 'telegram', '-1000002000001:5', NULL, 'owner', '7', 'Olivia', 0, '', 'wmbbd3vzfg:0', NULL, '01a20cae-3c9e-700b-9b74-06902ebccd52', NULL, 'answer: wmbbd3vzfg', 'Approved by owner', 1795509075161047, 1795509075164663, 0, NULL, 0);
INSERT INTO inbox VALUES (10, 'tg:123456:m:-1000002000001:17', 'message', 'telegram', '-1000002000001:2', '=-1000002000001:2', 'owner', '7', 'Olivia', 0, '00000000000000000017', 'please run: echo approved >> approved.txt', '{"ref":"-1000002000001:17"}', '01a20cae-7660-7bc0-8ddb-456212def4d3', '01a20cae-7660-77b6-99ed-a9b61d18b0a1', 'turn 1', NULL, 1795509089000000, 1795509089889662, 0, NULL, 0);
INSERT INTO inbox VALUES (11, 'tg:123456:m:-1000002000001:19', 'message', 'telegram', '-1000002000001:3', '=-1000002000001:3', 'owner', '7', 'Olivia', 0, '00000000000000000019', 'please run: echo one >> joint.txt
please run: echo two >> joint.txt', '{"ref":"-1000002000001:19"}', '01a20cae-7691-7a50-9408-cdac30ef58f8', '01a20cae-7691-70f3-8920-f2a45a7618a4', 'turn 1', NULL, 1795509089000000, 1795509089937756, 0, NULL, 0);
INSERT INTO inbox VALUES (12, 'tg:123456:m:-1000002000001:21', 'message', 'telegram', '-1000002000001:4', '=-1000002000001:4', 'owner', '7', 'Olivia', 0, '00000000000000000021', 'please call: ask_user {"question": "Which color?", "choices": ["red", "dark green"]}', '{"ref":"-1000002000001:21"}', '01a20cae-76e5-7b91-bf42-a849f2955ef8', '01a20cae-76e5-7435-b9b1-d460a6026c24', 'turn 1', NULL, 1795509090000000, 1795509090022311, 0, NULL, 0);
INSERT INTO inbox VALUES (13, 'tg:123456:m:-1000002000001:23', 'message', 'telegram', '-1000002000001:6', '=-1000002000001:6', 'owner', '7', 'Olivia', 0, '00000000000000000023', 'count for ever', '{"ref":"-1000002000001:23"}', '01a20cae-7722-7ba1-ad2a-e2edd3d63e11', '01a20cae-7722-7f44-a239-e48a4eebab6e', 'turn 1', NULL, 1795509090000000, 1795509090082436, 0, NULL, 0);
INSERT INTO inbox VALUES (14, 'tg:123456:m:8:12', 'message', 'telegram', '8', '=8', '01a20cad-8f24-73fd-b417-ce10156f63b0', '8', 'Ben', 1, '00000000000000000012', 'please call: write_file {"path": "quorum.txt", "content": "by two\n"}', NULL, '01a20cae-7765-751a-bac0-d3c80ef545e8', '01a20cae-7765-78e8-baa2-6ddf23062433', 'turn 1', NULL, 1795509090000000, 1795509090149954, 1, NULL, 0);
INSERT INTO inbox VALUES (15, 'tg:123456:cb:4382000000000000003', 'choice', 'telegram', '9', NULL, '01a20cad-b65e-7458-bd51-9d71d0358bc1', '9', 'Lea', 1, '', 'peev3mf48k:0', NULL, '01a20cae-7765-751a-bac0-d3c80ef545e8', NULL, 'answer: peev3mf48k', 'Counted. 1 more needed.', 1795509090216572, 1795509090219325, 0, NULL, 0);
INSERT INTO inbox VALUES (16, 'tg:123456:m:8:16', 'message', 'telegram', '8', '=8', '01a20cad-8f24-73fd-b417-ce10156f63b0', '8', 'Ben', 1, '00000000000000000016', 'and water the garden', NULL, '01a20cae-7765-751a-bac0-d3c80ef545e8', NULL, 'waiting', NULL, 1795509090000000, 1795509090232302, 1, NULL, 0);
INSERT INTO inbox VALUES (17, 'tg:123456:m:-1000002000001:25', 'message', 'telegram', '-1000002000001:7', '=-1000002000001:7', 'owner', '7', 'Olivia', 0, '00000000000000000025', 'please run: echo running >> running.txt && sleep 600', '{"ref":"-1000002000001:25"}', '01a20cae-77b9-71cb-9055-490dc615a488', '01a20cae-77b9-70cd-a868-8f1c6b3ee644', 'turn 1', NULL, 1795509090000000, 1795509090233436, 0, NULL, 0);
INSERT INTO inbox VALUES (18, 'tg:123456:cb:4382000000000000004', 'choice', 'telegram', '-1000002000001:7', NULL, 'owner', '7', 'Olivia', 0, '', 'wsys2jrvmq:0', NULL, '01a20cae-77b9-71cb-9055-490dc615a488', NULL, 'answer: wsys2jrvmq', 'Approved by owner', 1795509090295177, 1795509090298297, 0, NULL, 0);
INSERT INTO inbox VALUES (19, 'tg:123456:m:-1000002000001:27', 'message', 'telegram', '-1000002000001:8', '=-1000002000001:8', 'owner', '7', 'Olivia', 0, '00000000000000000027', 'hold the turn', '{"ref":"-1000002000001:27"}', '01a20cae-78dc-7deb-aa2a-0a15bdc28ced', '01a20cae-78dc-7759-924b-cd3c53a1aabf', 'turn 1', NULL, 1795509090000000, 1795509090524576, 0, NULL, 0);
INSERT INTO inbox VALUES (20, 'tg:123456:m:10:18', 'message', 'telegram', '10', '=10', '01a20cad-9e0b-7b28-a913-43f2b558b7d1', '10', 'Dan', 1, '00000000000000000018', 'say: Sent to Dan.', NULL, '01a20cae-78dc-7245-8224-f3ed912f120b', '01a20cae-78dc-708e-b70d-f867eabaa75c', 'turn 1', NULL, 1795509090000000, 1795509090525125, 1, NULL, 0);
INSERT INTO inbox VALUES (21, 'tg:123456:m:-1000002000001:28', 'message', 'telegram', '-1000002000001:9', '=-1000002000001:9', 'owner', '7', 'Olivia', 0, '00000000000000000028', 'tell the story', '{"ref":"-1000002000001:28"}', '01a20cae-78fa-7170-96f2-bb6cc2db00c6', '01a20cae-78fa-7d25-9ec3-feffee65082d', 'turn 1', NULL, 1795509090000000, 1795509090554953, 0, NULL, 0);
INSERT INTO inbox VALUES (22, 'tg:123456:m:7:20', 'message', 'telegram', '7', '=7', 'owner', '7', 'Olivia', 1, '00000000000000000020', 'please call: tool_auth {"name": "shed", "purpose": "to open the shed"}', NULL, '01a20cae-7cfd-72c9-8c81-f81fc2716151', '01a20cae-7cfd-773b-9e1e-98b42fa68e11', 'turn 1', NULL, 1795509091000000, 1795509091582065, 0, NULL, 0);
INSERT INTO inbox VALUES (23, 'tg:123456:m:9:22', 'message', 'telegram', '9', '=9', '01a20cad-b65e-7458-bd51-9d71d0358bc1', '9', 'Lea', 1, '00000000000000000022', 'say: Sent to Lea.', NULL, '01a20cae-7d4b-7583-82c2-f47e0ec85689', '01a20cae-7d4b-7fcf-ace5-e58827012919', 'turn 1', NULL, 1795509091000000, 1795509091659501, 1, NULL, 0);
INSERT INTO inbox VALUES (24, 'tg:123456:m:11:23', 'message', 'telegram', '11', '=11', '01a20cad-aa62-747d-88a2-ee876325e4bd', '11', 'Eva', 1, '00000000000000000023', 'please run: echo late >> late.txt', NULL, '01a20cae-7d4b-7c3d-8696-1ad75e83f629', '01a20cae-7d4b-7167-a664-9e4921ec2e4f', 'turn 1', NULL, 1795509091000000, 1795509091659767, 1, NULL, 0);
DELETE FROM calls;
INSERT INTO calls VALUES ('01a20cae-2be4-7a4e-9a01-35e61687d639', '01a20cae-2bbb-70f4-9559-bc5a0b49dec6', 3, '01a20cae-2bbb-766f-927b-cce29eb57c7a', 'shell', 'effect', 'ended', 'ok', '97e5a018cee10d305dbd12db728cff57cf72aa814690e437b318605b7c6189e5', 'z3xsf69zvf', 'always', 'owner', 15501, 15501, 838963, NULL, NULL, 1, 1795509070958542, 1795509071264081);
INSERT INTO calls VALUES ('01a20cae-3cb2-729f-bfcb-c7e20f54c100', '01a20cae-3c9e-700b-9b74-06902ebccd52', 3, '01a20cae-3c9e-77f6-9353-dc93c9994bf5', 'shell', 'effect', 'unknown', NULL, '3bbd25624d6ab53ed06ad477e6818a24225a49f4375a77e772997cab897f3655', 'rsraas3ry1', NULL, NULL, 15549, 15549, 839388, NULL, NULL, 1, 1795509075201634, NULL);
INSERT INTO calls VALUES ('01a20cae-7674-7792-9b63-d035b6dd7e26', '01a20cae-7660-7bc0-8ddb-456212def4d3', 3, '01a20cae-7660-77b6-99ed-a9b61d18b0a1', 'shell', 'effect', 'waiting', NULL, '7e45fc88ebeede8b8eeadc7acc2892b010a4c0dcefff22d9b6899ffc1040dcf9', '7e29d5ef88', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO calls VALUES ('01a20cae-76b8-75de-90fe-57e9b64b0030', '01a20cae-7691-7a50-9408-cdac30ef58f8', 3, '01a20cae-7691-70f3-8920-f2a45a7618a4', 'shell', 'effect', 'waiting', NULL, '86d0b4698eb934d5725d980119bd8a75786bc701343ba7a625a551098e07b61f', 't3erqkd9ax', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO calls VALUES ('01a20cae-76b8-77b8-be70-7e9b1bbcc26e', '01a20cae-7691-7a50-9408-cdac30ef58f8', 4, '01a20cae-7691-70f3-8920-f2a45a7618a4', 'shell', 'effect', 'waiting', NULL, '65f60da5926ad74ca60acc4e93c390548de37d240e14c657dcce15840b2ad794', 't3erqkd9ax', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO calls VALUES ('01a20cae-76f8-7ec4-889d-ed786a098589', '01a20cae-76e5-7b91-bf42-a849f2955ef8', 3, '01a20cae-76e5-7435-b9b1-d460a6026c24', 'ask_user', 'none', 'waiting', NULL, '', 'nrkqxzk2zd', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO calls VALUES ('01a20cae-7739-74ae-9fd3-cea443a453c0', '01a20cae-7722-7ba1-ad2a-e2edd3d63e11', 3, '01a20cae-7722-7f44-a239-e48a4eebab6e', 'time', 'none', 'ended', 'ok', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 1795509090111721, 1795509090112550);
INSERT INTO calls VALUES ('01a20cae-7748-729b-88a5-06528a799bb8', '01a20cae-7722-7ba1-ad2a-e2edd3d63e11', 6, '01a20cae-7722-7f44-a239-e48a4eebab6e', 'time', 'none', 'ended', 'ok', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2, 1795509090121758, 1795509090122424);
INSERT INTO calls VALUES ('01a20cae-7751-790c-a442-eb2a08c4db34', '01a20cae-7722-7ba1-ad2a-e2edd3d63e11', 9, '01a20cae-7722-7f44-a239-e48a4eebab6e', 'time', 'none', 'ended', 'ok', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 3, 1795509090132137, 1795509090132761);
INSERT INTO calls VALUES ('01a20cae-776a-76e7-95f0-527aa3e4c447', '01a20cae-7765-751a-bac0-d3c80ef545e8', 3, '01a20cae-7765-78e8-baa2-6ddf23062433', 'write_file', 'effect', 'waiting', NULL, '95f28e7d0fc2d1fc2625d5ac6a1764f5eb272d8f1fbcb89960ba0310c98c6d66.e48c15563a3bd68efd450ce26b0a04097dd74cf37a077af86bd12546a09cc072', 'peev3mf48k', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO calls VALUES ('01a20cae-77c7-7bed-b625-76af9e9459c9', '01a20cae-77b9-71cb-9055-490dc615a488', 3, '01a20cae-77b9-70cd-a868-8f1c6b3ee644', 'shell', 'effect', 'running', NULL, 'be6b9e6bc555ea7b05c85e8f82067b1923c3499d43914d550151f57d6b04b747', 'wsys2jrvmq', 'approve', 'owner', 16088, 16088, 840899, NULL, NULL, 1, 1795509090322482, NULL);
INSERT INTO calls VALUES ('01a20cae-7d1d-7563-bdee-47cd45aba09b', '01a20cae-7cfd-72c9-8c81-f81fc2716151', 3, '01a20cae-7cfd-773b-9e1e-98b42fa68e11', 'tool_auth', 'none', 'waiting', NULL, '', 'cbfzjq1tpf', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO calls VALUES ('01a20cae-7d62-7add-b819-a4daecc1c542', '01a20cae-7d4b-7c3d-8696-1ad75e83f629', 3, '01a20cae-7d4b-7167-a664-9e4921ec2e4f', 'shell', 'effect', 'waiting', NULL, 'c6299e343c0dd8fd42850c64a5ef667b6c2beb60d5487bed3c22d68f6b07c986', 'xj7m4rnna0', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
DELETE FROM prompts;
INSERT INTO prompts VALUES ('7e29d5ef88', 'approval', 'open', '01a20cae-7660-7bc0-8ddb-456212def4d3', '01a20cae-7660-77b6-99ed-a9b61d18b0a1', '01a20cae-7674-7792-9b63-d035b6dd7e26', 'owner', 'May I run shell?
shell was not granted yet.', 'command: echo approved >> approved.txt
timeout_s: 30', 'approve deny always', '[]', 1, 0, '7e45fc88ebeede8b8eeadc7acc2892b010a4c0dcefff22d9b6899ffc1040dcf9', 'shell', '>> approved.txt echo approved', 1795509089913086, 1795595489913086, NULL, NULL, NULL, NULL, NULL, 0, 1795591889913086, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO prompts VALUES ('cbfzjq1tpf', 'question', 'open', '01a20cae-7cfd-72c9-8c81-f81fc2716151', '01a20cae-7cfd-773b-9e1e-98b42fa68e11', '01a20cae-7d1d-7563-bdee-47cd45aba09b', 'owner', 'Please send me the credential “shed”: to open the shed', '', '', '["owner"]', 1, 0, '', 'tool_auth', NULL, 1795509091620420, 1795595491620420, NULL, NULL, NULL, NULL, '["Cancel"]', 1, 1795591891620420, '[]', NULL, 0, NULL, 'shed', 0, NULL, 1);
INSERT INTO prompts VALUES ('nrkqxzk2zd', 'question', 'open', '01a20cae-76e5-7b91-bf42-a849f2955ef8', '01a20cae-76e5-7435-b9b1-d460a6026c24', '01a20cae-76f8-7ec4-889d-ed786a098589', 'owner', 'Which color?', '', '', '["owner"]', 1, 0, '', 'ask_user', NULL, 1795509090043356, 1795595490043356, NULL, NULL, NULL, NULL, '["red","dark green"]', 0, 1795591890043356, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO prompts VALUES ('peev3mf48k', 'approval', 'open', '01a20cae-7765-751a-bac0-d3c80ef545e8', '01a20cae-7765-78e8-baa2-6ddf23062433', '01a20cae-776a-76e7-95f0-527aa3e4c447', '01a20cad-8f24-73fd-b417-ce10156f63b0', 'May I run write_file?
write_file was not granted yet.', 'path: quorum.txt
content: by two
    ', 'approve deny', '["owner","01a20cad-b65e-7458-bd51-9d71d0358bc1"]', 2, 0, '95f28e7d0fc2d1fc2625d5ac6a1764f5eb272d8f1fbcb89960ba0310c98c6d66.e48c15563a3bd68efd450ce26b0a04097dd74cf37a077af86bd12546a09cc072', 'write_file', 'quorum.txt', 1795509090160196, 1795595490160196, NULL, NULL, NULL, NULL, NULL, 0, 1795591890160196, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO prompts VALUES ('rsraas3ry1', 'unknown_outcome', 'open', '01a20cae-3c9e-700b-9b74-06902ebccd52', '01a20cae-3c9e-77f6-9353-dc93c9994bf5', '01a20cae-3cb2-729f-bfcb-c7e20f54c100', 'owner', 'I was interrupted while running shell and don''t know whether it took effect.', 'command: echo unknown >> unknown.txt && sleep 600
timeout_s: 30', 'happened retry skip', '[]', 1, 0, '3bbd25624d6ab53ed06ad477e6818a24225a49f4375a77e772997cab897f3655', 'shell', NULL, 1795509088778048, 1798101088778048, NULL, NULL, NULL, NULL, NULL, 0, 1798097488778048, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO prompts VALUES ('s31x0j2tfp', 'continue', 'open', '01a20cae-7722-7ba1-ad2a-e2edd3d63e11', '01a20cae-7722-7f44-a239-e48a4eebab6e', NULL, 'owner', 'I have used 3 rounds of tools on this. Shall I go on?', '', 'continue stop', '[]', 1, 0, '', NULL, NULL, 1795509090133863, 1795595490133863, NULL, NULL, NULL, NULL, NULL, 0, 1795591890133863, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO prompts VALUES ('t3erqkd9ax', 'approval', 'open', '01a20cae-7691-7a50-9408-cdac30ef58f8', '01a20cae-7691-70f3-8920-f2a45a7618a4', NULL, 'owner', 'May I run these 2 calls?', '', 'approve deny one_by_one', '[]', 1, 0, '6a69893f4785b08d73b725a2b463ce9bc2bef8de66f42b0b3559bd1f152a0624', NULL, NULL, 1795509089997268, 1795595489997268, NULL, NULL, NULL, NULL, NULL, 0, 1795591889997268, '[]', NULL, 0, '[["01a20cae-76b8-75de-90fe-57e9b64b0030", "shell", "shell was not granted yet.", "command: echo one >> joint.txt\ntimeout_s: 30", "86d0b4698eb934d5725d980119bd8a75786bc701343ba7a625a551098e07b61f"], ["01a20cae-76b8-77b8-be70-7e9b1bbcc26e", "shell", "shell was not granted yet.", "command: echo two >> joint.txt\ntimeout_s: 30", "65f60da5926ad74ca60acc4e93c390548de37d240e14c657dcce15840b2ad794"]]', NULL, 0, NULL, 0);
INSERT INTO prompts VALUES ('wmbbd3vzfg', 'approval', 'closed', '01a20cae-3c9e-700b-9b74-06902ebccd52', '01a20cae-3c9e-77f6-9353-dc93c9994bf5', '01a20cae-3cb2-729f-bfcb-c7e20f54c100', 'owner', 'May I run shell?
shell was not granted yet.', 'command: echo unknown >> unknown.txt && sleep 600
timeout_s: 30', 'approve deny always', '[]', 1, 0, '3bbd25624d6ab53ed06ad477e6818a24225a49f4375a77e772997cab897f3655', 'shell', '>> unknown.txt echo unknown
@sleep', 1795509075139895, 1795595475139895, 'approve', 'Approved by owner', 'owner', 1795509075164124, NULL, 0, 1795591875139895, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO prompts VALUES ('wsys2jrvmq', 'approval', 'closed', '01a20cae-77b9-71cb-9055-490dc615a488', '01a20cae-77b9-70cd-a868-8f1c6b3ee644', '01a20cae-77c7-7bed-b625-76af9e9459c9', 'owner', 'May I run shell?
shell was not granted yet.', 'command: echo running >> running.txt && sleep 600
timeout_s: 30', 'approve deny always', '[]', 1, 0, 'be6b9e6bc555ea7b05c85e8f82067b1923c3499d43914d550151f57d6b04b747', 'shell', '>> running.txt echo running
@sleep', 1795509090261341, 1795595490261341, 'approve', 'Approved by owner', 'owner', 1795509090296887, NULL, 0, 1795591890261341, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO prompts VALUES ('xj7m4rnna0', 'approval', 'open', '01a20cae-7d4b-7c3d-8696-1ad75e83f629', '01a20cae-7d4b-7167-a664-9e4921ec2e4f', '01a20cae-7d62-7add-b819-a4daecc1c542', '01a20cad-aa62-747d-88a2-ee876325e4bd', 'May I run shell?
shell was not granted yet.', 'command: echo late >> late.txt
timeout_s: 30', 'approve deny always', '[]', 1, 0, 'c6299e343c0dd8fd42850c64a5ef667b6c2beb60d5487bed3c22d68f6b07c986', 'shell', '>> late.txt echo late', 1795509091708432, 1795595491708432, NULL, NULL, NULL, NULL, NULL, 0, 1795591891708432, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO prompts VALUES ('z3xsf69zvf', 'approval', 'closed', '01a20cae-2bbb-70f4-9559-bc5a0b49dec6', '01a20cae-2bbb-766f-927b-cce29eb57c7a', '01a20cae-2be4-7a4e-9a01-35e61687d639', 'owner', 'May I run shell?
shell was not granted yet.', 'command: echo granted >> granted.txt
timeout_s: 30', 'approve deny always', '[]', 1, 0, '97e5a018cee10d305dbd12db728cff57cf72aa814690e437b318605b7c6189e5', 'shell', '>> granted.txt echo granted', 1795509070905043, 1795595470905043, 'always', 'Always approved by owner', 'owner', 1795509070947005, NULL, 0, 1795591870905043, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
DELETE FROM votes;
INSERT INTO votes VALUES ('peev3mf48k', '01a20cad-b65e-7458-bd51-9d71d0358bc1', 'Lea', 'approve', 1795509090218906);
INSERT INTO votes VALUES ('wmbbd3vzfg', 'owner', 'owner', 'approve', 1795509075163932);
INSERT INTO votes VALUES ('wsys2jrvmq', 'owner', 'owner', 'approve', 1795509090296633);
INSERT INTO votes VALUES ('z3xsf69zvf', 'owner', 'owner', 'always', 1795509070946573);
DELETE FROM grants;
INSERT INTO grants VALUES ('01a20cae-2c61-7ac2-8265-d581fe3bf960', 'owner', 'shell', '>> granted.txt echo granted', 'user', NULL, 'owner', 1795509070944098, NULL);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES ('outbox', 28);
DELETE FROM memories;
DELETE FROM memory_terms_data;
INSERT INTO memory_terms_data VALUES (1, X'');
INSERT INTO memory_terms_data VALUES (10, X'00000000000000');
DELETE FROM memory_terms_idx;
DELETE FROM memory_terms_docsize;
DELETE FROM memory_terms_config;
INSERT INTO memory_terms_config VALUES ('version', 4);
DELETE FROM probe;
DELETE FROM pairing_requests;
DELETE FROM link_offers;
DELETE FROM wrong_codes;
DELETE FROM outbox;
INSERT INTO outbox VALUES (1, 'telegram', '7', '{"blocks":[["plain","Hello. Write to me and I will answer; when something I want to do needs your consent, I show buttons first. /help lists the commands."]]}', 'sent', 1, '01a20cae-2b50-7b7a-ad73-b2a8a9baf3f4', '["7:2"]', '00000000000000000002', NULL, NULL, NULL, NULL, 1, 0, 1, 0, NULL, 1795509070672548, 1795509070699223, 1795509070672548, NULL, 1, NULL);
INSERT INTO outbox VALUES (2, 'telegram', '8', '{"blocks":[["plain","Hello. Write to me and I will answer; when something I want to do needs your consent, I show buttons first. /help lists the commands."]]}', 'sent', 1, '01a20cae-2b6b-76ef-b8c2-b7584fdddadb', '["8:4"]', '00000000000000000004', NULL, NULL, NULL, NULL, 2, 0, 1, 0, NULL, 1795509070699995, 1795509070724180, 1795509070699995, NULL, 2, NULL);
INSERT INTO outbox VALUES (3, 'telegram', '9', '{"blocks":[["plain","Hello. Write to me and I will answer; when something I want to do needs your consent, I show buttons first. /help lists the commands."]]}', 'sent', 1, '01a20cae-2b84-764e-9765-e805b22fab5e', '["9:6"]', '00000000000000000006', NULL, NULL, NULL, NULL, 3, 0, 1, 0, NULL, 1795509070724554, 1795509070736468, 1795509070724554, NULL, 3, NULL);
INSERT INTO outbox VALUES (4, 'telegram', '10', '{"blocks":[["plain","Hello. Write to me and I will answer; when something I want to do needs your consent, I show buttons first. /help lists the commands."]]}', 'sent', 1, '01a20cae-2b90-745b-9fc6-88c3b7f7b7ba', '["10:8"]', '00000000000000000008', NULL, NULL, NULL, NULL, 4, 0, 1, 0, NULL, 1795509070736915, 1795509070757130, 1795509070736915, NULL, 4, NULL);
INSERT INTO outbox VALUES (5, 'telegram', '11', '{"blocks":[["plain","Hello. Write to me and I will answer; when something I want to do needs your consent, I show buttons first. /help lists the commands."]]}', 'sent', 1, '01a20cae-2ba5-707b-82b9-a5d6f0167ad1', '["11:10"]', '00000000000000000010', NULL, NULL, NULL, NULL, 5, 0, 1, 0, NULL, 1795509070757486, 1795509070779039, 1795509070757486, NULL, 5, NULL);
INSERT INTO outbox VALUES (6, 'telegram', '-1000002000001:10', '{"blocks":[["plain","May I run shell?\nshell was not granted yet."],["code","command: echo granted >> granted.txt\ntimeout_s: 30",""],["plain","Always would grant shell: >> granted.txt echo granted\nor type /approve z3xsf69zvf or /deny z3xsf69zvf"]],"choices":["Approve","Deny","Always"],"prompt_id":"z3xsf69zvf","reply_to":"-1000002000001:11","editable":true}', 'sent', 1, '01a20cae-2c39-7deb-b49e-4c03a6aa381c', '["-1000002000001:12"]', '00000000000000000012', NULL, NULL, 'z3xsf69zvf', '01a20cae-2bbb-766f-927b-cce29eb57c7a', NULL, 0, 1, 0, NULL, 1795509070912627, 1795509070944517, 1795509070925110, NULL, 6, NULL);
INSERT INTO outbox VALUES (7, 'telegram', '-1000002000001:10', '{"blocks":[["plain","May I run shell?\nshell was not granted yet."],["code","command: echo granted >> granted.txt\ntimeout_s: 30",""]],"prompt_id":"z3xsf69zvf","outcome":"Always approved by owner"}', 'sent', 1, '01a20cae-2c63-75a7-93ac-8a89daefaa87', '[]', NULL, 6, NULL, 'z3xsf69zvf', NULL, NULL, 0, 1, 0, NULL, 1795509070947649, 1795509075001913, 1795509070953290, NULL, 7, NULL);
INSERT INTO outbox VALUES (8, 'telegram', '-1000002000001:10', '{"blocks":[],"reply_to":"-1000002000001:11"}', 'replaced', 1, '01a20cae-3c3f-7e77-bcc8-509bcd3b7c63', '["-1000002000001:13"]', '00000000000000000013', NULL, NULL, NULL, '01a20cae-2bbb-766f-927b-cce29eb57c7a', NULL, 0, 1, 0, NULL, 1795509075007183, 1795509075035324, 1795509075007183, NULL, 7, NULL);
INSERT INTO outbox VALUES (9, 'telegram', '-1000002000001:10', '{"blocks":[["markdown","Done: <tool_output name=\"shell\" id=\"5abdeba3666825f380a94d2a\">\nexit code: 0\n\n</tool_output id=\"5abdeba3666825f380a94d2a\">"]],"reply_to":"-1000002000001:11"}', 'sent', 1, '01a20cae-3c45-7247-b9c5-62da5e250b91', '["-1000002000001:13"]', '00000000000000000013', NULL, 8, NULL, '01a20cae-2bbb-766f-927b-cce29eb57c7a', NULL, 0, 1, 0, NULL, 1795509075020720, 1795509089598598, 1795509089556499, NULL, 9, NULL);
INSERT INTO outbox VALUES (10, 'telegram', '7', '{"blocks":[["plain","🔔 Routine “watch” has something for you"],["markdown","The tap drips.\n\n# What fired the routine\nA person asked for this run."]],"choices":["Details","Pause","Run again"],"prompt_id":"mgg6sttjf5"}', 'sent', 1, '01a20cae-3c6c-7b65-b13f-3e261a5666c5', '["7:11"]', '00000000000000000011', NULL, NULL, NULL, NULL, NULL, 0, 1, 0, NULL, 1795509075059869, 1795509075097255, 1795509075068789, NULL, 7, NULL);
INSERT INTO outbox VALUES (11, 'telegram', '-1000002000001:5', '{"blocks":[["plain","May I run shell?\nshell was not granted yet."],["code","command: echo unknown >> unknown.txt && sleep 600\ntimeout_s: 30",""],["plain","Always would grant shell: >> unknown.txt echo unknown; sleep with its harmless options\nor type /approve wmbbd3vzfg or /deny wmbbd3vzfg"]],"choices":["Approve","Deny","Always"],"prompt_id":"wmbbd3vzfg","reply_to":"-1000002000001:14","editable":true}', 'sent', 1, '01a20cae-3cc4-7e29-877e-49a8e2d25303', '["-1000002000001:15"]', '00000000000000000015', NULL, NULL, 'wmbbd3vzfg', '01a20cae-3c9e-77f6-9353-dc93c9994bf5', NULL, 0, 1, 0, NULL, 1795509075142260, 1795509075163189, 1795509075151322, NULL, 8, NULL);
INSERT INTO outbox VALUES (12, 'telegram', '-1000002000001:5', '{"blocks":[["plain","May I run shell?\nshell was not granted yet."],["code","command: echo unknown >> unknown.txt && sleep 600\ntimeout_s: 30",""]],"prompt_id":"wmbbd3vzfg","outcome":"Approved by owner"}', 'sent', 1, '01a20cae-3cdc-7aba-a9f7-b17754147ea0', '[]', NULL, 11, NULL, 'wmbbd3vzfg', NULL, NULL, 0, 1, 0, NULL, 1795509075164430, 1795509075222923, 1795509075181745, NULL, 9, NULL);
INSERT INTO outbox VALUES (13, 'telegram', '-1000002000001:5', '{"blocks":[["plain","I was interrupted while running shell and don''t know whether it took effect."],["code","command: echo unknown >> unknown.txt && sleep 600\ntimeout_s: 30",""]],"choices":["It happened","Run it again","Leave it"],"prompt_id":"rsraas3ry1","reply_to":"-1000002000001:14"}', 'sent', 1, '01a20cae-720a-7ee7-9a2c-6bda891d84db', '["-1000002000001:16"]', '00000000000000000016', NULL, NULL, 'rsraas3ry1', '01a20cae-3c9e-77f6-9353-dc93c9994bf5', NULL, 0, 1, 0, NULL, 1795509088784839, 1795509089589388, 1795509089556836, NULL, 9, NULL);
INSERT INTO outbox VALUES (14, 'telegram', '-1000002000001:2', '{"blocks":[["plain","May I run shell?\nshell was not granted yet."],["code","command: echo approved >> approved.txt\ntimeout_s: 30",""],["plain","Always would grant shell: >> approved.txt echo approved\nor type /approve 7e29d5ef88 or /deny 7e29d5ef88"]],"choices":["Approve","Deny","Always"],"prompt_id":"7e29d5ef88","reply_to":"-1000002000001:17","editable":true}', 'sent', 1, '01a20cae-7679-708a-94c1-5da6d88046c8', '["-1000002000001:18"]', '00000000000000000018', NULL, NULL, '7e29d5ef88', '01a20cae-7660-77b6-99ed-a9b61d18b0a1', NULL, 0, 1, 0, NULL, 1795509089913879, 1795509089937262, 1795509089922751, NULL, 10, NULL);
INSERT INTO outbox VALUES (15, 'telegram', '-1000002000001:3', '{"blocks":[["plain","May I run these 2 calls?"],["plain","1. shell: shell was not granted yet."],["code","command: echo one >> joint.txt\ntimeout_s: 30",""],["plain","2. shell: shell was not granted yet."],["code","command: echo two >> joint.txt\ntimeout_s: 30",""],["plain","or type /approve t3erqkd9ax or /deny t3erqkd9ax"]],"choices":["Approve all","Deny all","One by one"],"prompt_id":"t3erqkd9ax","reply_to":"-1000002000001:19"}', 'sent', 1, '01a20cae-76cd-7158-9009-fc4a22ddd4bd', '["-1000002000001:20"]', '00000000000000000020', NULL, NULL, 't3erqkd9ax', '01a20cae-7691-70f3-8920-f2a45a7618a4', NULL, 0, 1, 0, NULL, 1795509090003390, 1795509090021561, 1795509090011660, NULL, 11, NULL);
INSERT INTO outbox VALUES (16, 'telegram', '-1000002000001:4', '{"blocks":[["plain","Which color?"]],"choices":["red","dark green"],"prompt_id":"nrkqxzk2zd","reply_to":"-1000002000001:21"}', 'sent', 1, '01a20cae-76fb-7676-9c16-a4f049fdc9a8', '["-1000002000001:22"]', '00000000000000000022', NULL, NULL, 'nrkqxzk2zd', '01a20cae-76e5-7435-b9b1-d460a6026c24', NULL, 0, 1, 0, NULL, 1795509090044232, 1795509090081663, 1795509090059847, NULL, 12, NULL);
INSERT INTO outbox VALUES (17, 'telegram', '-1000002000001:6', '{"blocks":[["plain","I have used 3 rounds of tools on this. Shall I go on?"]],"choices":["Go on","Stop here"],"prompt_id":"s31x0j2tfp","reply_to":"-1000002000001:23"}', 'sent', 1, '01a20cae-7756-7309-ac3e-1c4ea6743e50', '["-1000002000001:24"]', '00000000000000000024', NULL, NULL, 's31x0j2tfp', '01a20cae-7722-7f44-a239-e48a4eebab6e', NULL, 0, 1, 0, NULL, 1795509090134586, 1795509090149108, 1795509090136036, NULL, 13, NULL);
INSERT INTO outbox VALUES (18, 'telegram', '8', '{"blocks":[["plain","May I run write_file?\nwrite_file was not granted yet."],["code","path: quorum.txt\ncontent: by two\n    ",""],["plain","2 people have to agree.\nor type /approve peev3mf48k or /deny peev3mf48k"]],"choices":["Approve","Deny"],"prompt_id":"peev3mf48k","editable":true}', 'sent', 1, '01a20cae-7780-7f9f-a24f-6a29b5aed927', '["8:13"]', '00000000000000000013', NULL, NULL, 'peev3mf48k', '01a20cae-7765-78e8-baa2-6ddf23062433', NULL, 0, 1, 0, NULL, 1795509090179032, 1795509090211165, 1795509090191378, NULL, 14, NULL);
INSERT INTO outbox VALUES (19, 'telegram', '7', '{"blocks":[["plain","May I run write_file?\nwrite_file was not granted yet."],["code","path: quorum.txt\ncontent: by two\n    ",""],["plain","2 people have to agree.\nor type /approve peev3mf48k or /deny peev3mf48k"]],"choices":["Approve","Deny"],"prompt_id":"peev3mf48k","editable":true}', 'sent', 1, '01a20cae-7780-7170-8436-574b28dce031', '["7:14"]', '00000000000000000014', NULL, NULL, 'peev3mf48k', '01a20cae-7765-78e8-baa2-6ddf23062433', NULL, 0, 1, 0, NULL, 1795509090179032, 1795509090211438, 1795509090191622, NULL, 14, NULL);
INSERT INTO outbox VALUES (20, 'telegram', '9', '{"blocks":[["plain","May I run write_file?\nwrite_file was not granted yet."],["code","path: quorum.txt\ncontent: by two\n    ",""],["plain","2 people have to agree.\nor type /approve peev3mf48k or /deny peev3mf48k"]],"choices":["Approve","Deny"],"prompt_id":"peev3mf48k","editable":true}', 'sent', 1, '01a20cae-7780-7307-a395-59712452e653', '["9:15"]', '00000000000000000015', NULL, NULL, 'peev3mf48k', '01a20cae-7765-78e8-baa2-6ddf23062433', NULL, 0, 1, 0, NULL, 1795509090179032, 1795509090217194, 1795509090191917, NULL, 14, NULL);
INSERT INTO outbox VALUES (21, 'telegram', '8', '{"blocks":[["plain","Your message is queued: I am waiting for a decision on: May I run write_file?\nwrite_file was not granted yet.\nAnswer with its buttons, or /approve peev3mf48k or /deny peev3mf48k; /stop gives up."]]}', 'sent', 1, '01a20cae-77b8-7309-b9fb-240aacae1574', '["8:17"]', '00000000000000000017', NULL, NULL, NULL, NULL, 16, 0, 1, 0, NULL, 1795509090232415, 1795509090248073, 1795509090232415, NULL, 16, NULL);
INSERT INTO outbox VALUES (22, 'telegram', '-1000002000001:7', '{"blocks":[["plain","May I run shell?\nshell was not granted yet."],["code","command: echo running >> running.txt && sleep 600\ntimeout_s: 30",""],["plain","Always would grant shell: >> running.txt echo running; sleep with its harmless options\nor type /approve wsys2jrvmq or /deny wsys2jrvmq"]],"choices":["Approve","Deny","Always"],"prompt_id":"wsys2jrvmq","reply_to":"-1000002000001:25","editable":true}', 'sent', 1, '01a20cae-77d5-782b-b1d3-b6fcae1d1198', '["-1000002000001:26"]', '00000000000000000026', NULL, NULL, 'wsys2jrvmq', '01a20cae-77b9-70cd-a868-8f1c6b3ee644', NULL, 0, 1, 0, NULL, 1795509090262521, 1795509090295789, 1795509090277337, NULL, 17, NULL);
INSERT INTO outbox VALUES (23, 'telegram', '-1000002000001:7', '{"blocks":[["plain","May I run shell?\nshell was not granted yet."],["code","command: echo running >> running.txt && sleep 600\ntimeout_s: 30",""]],"prompt_id":"wsys2jrvmq","outcome":"Approved by owner"}', 'sent', 1, '01a20cae-77f9-7caf-a458-bc3839faaa1f', '[]', NULL, 22, NULL, 'wsys2jrvmq', NULL, NULL, 0, 1, 0, NULL, 1795509090297633, 1795509090322807, 1795509090302675, NULL, 18, NULL);
INSERT INTO outbox VALUES (24, 'telegram', '10', '{"blocks":[["markdown","Sent to Dan."]]}', 'sending', 0, '01a20cae-78f0-7ac0-845b-d5bfb7bb0f94', '[]', NULL, NULL, NULL, NULL, '01a20cae-78dc-708e-b70d-f867eabaa75c', NULL, 0, 1, 0, NULL, 1795509090544713, NULL, 1795509090544713, NULL, 20, NULL);
INSERT INTO outbox VALUES (25, 'telegram', '-1000002000001:9', '{"blocks":[],"reply_to":"-1000002000001:28"}', 'streaming', 0, '01a20cae-7ce8-70be-86c7-d33c44fc74b3', '["-1000002000001:29"]', '00000000000000000029', NULL, NULL, NULL, '01a20cae-78fa-7d25-9ec3-feffee65082d', NULL, 0, 1, 0, NULL, 1795509091560284, 1795509091571198, 1795509091560284, NULL, 21, NULL);
INSERT INTO outbox VALUES (26, 'telegram', '7', '{"blocks":[["plain","Please send me the credential “shed”: to open the shed"],["plain","Your next message is taken for it, within five minutes: it goes into the vault, and neither the model nor a log sees it."]],"choices":["Cancel"],"prompt_id":"cbfzjq1tpf"}', 'sent', 1, '01a20cae-7d24-744c-a654-0e366c95f226', '["7:21"]', '00000000000000000021', NULL, NULL, 'cbfzjq1tpf', '01a20cae-7cfd-773b-9e1e-98b42fa68e11', NULL, 0, 1, 0, NULL, 1795509091621424, 1795509091658935, 1795509091643310, NULL, 22, NULL);
INSERT INTO outbox VALUES (27, 'telegram', '9', '{"blocks":[["markdown","Sent to Lea."]]}', 'ambiguous', 0, '01a20cae-7d61-7cab-858a-47931b93cc2a', '[]', NULL, NULL, NULL, NULL, '01a20cae-7d4b-7fcf-ace5-e58827012919', NULL, 0, 1, 0, 'no answer from Telegram (ServerDisconnectedError)', 1795509091687294, NULL, 1795509091687294, 1795509091699424, 24, NULL);
INSERT INTO outbox VALUES (28, 'telegram', '11', '{"blocks":[["plain","May I run shell?\nshell was not granted yet."],["code","command: echo late >> late.txt\ntimeout_s: 30",""],["plain","Always would grant shell: >> late.txt echo late\nor type /approve xj7m4rnna0 or /deny xj7m4rnna0"]],"choices":["Approve","Deny","Always"],"prompt_id":"xj7m4rnna0","editable":true}', 'ambiguous', 0, '01a20cae-7d7c-7995-9911-3773df095f31', '[]', NULL, NULL, NULL, 'xj7m4rnna0', '01a20cae-7d4b-7167-a664-9e4921ec2e4f', NULL, 0, 1, 0, 'no answer from Telegram (ServerDisconnectedError)', 1795509091713446, NULL, 1795509091716480, 1795509091728173, 24, NULL);
DELETE FROM tool_settings;
DELETE FROM secrets;
INSERT INTO secrets VALUES ('garden', '1493740f0f04750f', X'2AC9FBD18BBC18832F8859CE9E48A65A4C2DA275B5DB73FFF4C4D3A7E723A029BE41FC0973DACE853CFF4C2DA06B15C32E', 1795509045972435);
DELETE FROM feed;
INSERT INTO feed VALUES ('01a20cae-2bbb-70f4-9559-bc5a0b49dec6', 4, 1795509070911745, 'card', '01a20cae-2bbb-766f-927b-cce29eb57c7a', NULL, NULL, 'z3xsf69zvf');
INSERT INTO feed VALUES ('01a20cae-2bbb-70f4-9559-bc5a0b49dec6', 5, 1795509070947265, 'outcome', '01a20cae-2bbb-766f-927b-cce29eb57c7a', NULL, NULL, 'z3xsf69zvf');
INSERT INTO feed VALUES ('01a20cae-3c9e-700b-9b74-06902ebccd52', 4, 1795509075141877, 'card', '01a20cae-3c9e-77f6-9353-dc93c9994bf5', NULL, NULL, 'wmbbd3vzfg');
INSERT INTO feed VALUES ('01a20cae-3c9e-700b-9b74-06902ebccd52', 5, 1795509075164210, 'outcome', '01a20cae-3c9e-77f6-9353-dc93c9994bf5', NULL, NULL, 'wmbbd3vzfg');
INSERT INTO feed VALUES ('01a20cae-3c9e-700b-9b74-06902ebccd52', 6, 1795509088783640, 'card', '01a20cae-3c9e-77f6-9353-dc93c9994bf5', NULL, NULL, 'rsraas3ry1');
INSERT INTO feed VALUES ('01a20cae-7660-7bc0-8ddb-456212def4d3', 4, 1795509089913573, 'card', '01a20cae-7660-77b6-99ed-a9b61d18b0a1', NULL, NULL, '7e29d5ef88');
INSERT INTO feed VALUES ('01a20cae-7691-7a50-9408-cdac30ef58f8', 5, 1795509089998578, 'card', '01a20cae-7691-70f3-8920-f2a45a7618a4', NULL, NULL, 't3erqkd9ax');
INSERT INTO feed VALUES ('01a20cae-76e5-7b91-bf42-a849f2955ef8', 4, 1795509090043893, 'card', '01a20cae-76e5-7435-b9b1-d460a6026c24', NULL, NULL, 'nrkqxzk2zd');
INSERT INTO feed VALUES ('01a20cae-7722-7ba1-ad2a-e2edd3d63e11', 11, 1795509090134345, 'card', '01a20cae-7722-7f44-a239-e48a4eebab6e', NULL, NULL, 's31x0j2tfp');
INSERT INTO feed VALUES ('01a20cae-7765-751a-bac0-d3c80ef545e8', 4, 1795509090178571, 'card', '01a20cae-7765-78e8-baa2-6ddf23062433', NULL, NULL, 'peev3mf48k');
INSERT INTO feed VALUES ('01a20cae-7765-751a-bac0-d3c80ef545e8', 5, 1795509090232805, 'message', NULL, NULL, 21, NULL);
INSERT INTO feed VALUES ('01a20cae-77b9-71cb-9055-490dc615a488', 4, 1795509090262131, 'card', '01a20cae-77b9-70cd-a868-8f1c6b3ee644', NULL, NULL, 'wsys2jrvmq');
INSERT INTO feed VALUES ('01a20cae-77b9-71cb-9055-490dc615a488', 5, 1795509090297222, 'outcome', '01a20cae-77b9-70cd-a868-8f1c6b3ee644', NULL, NULL, 'wsys2jrvmq');
INSERT INTO feed VALUES ('01a20cae-7cfd-72c9-8c81-f81fc2716151', 4, 1795509091621037, 'card', '01a20cae-7cfd-773b-9e1e-98b42fa68e11', NULL, NULL, 'cbfzjq1tpf');
INSERT INTO feed VALUES ('01a20cae-7d4b-7c3d-8696-1ad75e83f629', 4, 1795509091713075, 'card', '01a20cae-7d4b-7167-a664-9e4921ec2e4f', NULL, NULL, 'xj7m4rnna0');
DELETE FROM api_keys;
DELETE FROM routines;
INSERT INTO routines VALUES ('01a20cad-e1dc-7b56-a416-cc2303109430', 'owner', 'watch', 'manual', '{"name": "watch", "trigger": {"type": "manual"}, "action": {"type": "lightweight", "prompt": "say: The tap drips."}}', 1, NULL, NULL, NULL, 300000000, 1, 0, 0, NULL, 0, 1795509074489452, 1795509075038820, 1, 0, 0, '', '2158b1bdd10e3ffb981628b714320683cc191768eb7743fa7dd5e1ec5ed4d945', 1, 1795509051868915, 1795509051868915, NULL, NULL, NULL, NULL, NULL);
INSERT INTO routines VALUES ('01a20cad-f7cf-7210-9948-15f47e00fa55', 'owner', 'nightly', 'manual', '{"name": "nightly", "trigger": {"type": "manual"}, "action": {"type": "lightweight", "prompt": "hold the routine"}}', 1, NULL, NULL, NULL, 300000000, 1, 0, 0, NULL, 0, 1795509078999107, NULL, 0, 0, 0, '', NULL, 1, 1795509057487289, 1795509057487289, NULL, NULL, NULL, NULL, NULL);
INSERT INTO routines VALUES ('01a20cae-0cfc-771b-b969-499eede23db7', 'owner', 'tending', 'manual', '{"name": "tending", "trigger": {"type": "manual"}, "action": {"type": "lightweight", "prompt": "please run: echo tending >> tending.txt && sleep 600", "use_tools": true, "allowed_tools": ["shell"], "grants": ["shell *"]}, "guardrails": {"rerun_interrupted": true}}', 1, NULL, NULL, NULL, 300000000, 1, 0, 1, NULL, 0, 1795509083123726, NULL, 0, 0, 0, '', NULL, 1, 1795509062908594, 1795509062908594, NULL, NULL, NULL, NULL, NULL);
DELETE FROM routine_runs;
INSERT INTO routine_runs VALUES ('01a20cae-3a37-7ebc-adfc-91458fd6d0f6', '01a20cad-e1dc-7b56-a416-cc2303109430', 'manual:01a20cae-3a2e-736f-a7d2-1f098ac1381c', 'manual', '{"by": "manual", "request_id": "01a20cae-3a2e-736f-a7d2-1f098ac1381c", "user_id": "owner"}', NULL, 'attention', 1795509074487460, 1795509074487460, 1, NULL, 1795509074500053, 1795509075038820, 'The tap drips.

# What fired the routine
A person asked for this run.', NULL, 180, 18, '🔔 Routine “watch” has something for you

The tap drips.

# What fired the routine
A person asked for this run.', 'sent', 1795509075069031, 'mgg6sttjf5', 1795509074489453, 0, NULL, NULL);
INSERT INTO routine_runs VALUES ('01a20cae-4bd4-7a25-bc02-01e4f9624e83', '01a20cad-f7cf-7210-9948-15f47e00fa55', 'manual:01a20cae-4bcb-7f5d-8c6b-e90382ba3086', 'manual', '{"by": "manual", "request_id": "01a20cae-4bcb-7f5d-8c6b-e90382ba3086", "user_id": "owner"}', NULL, 'running', 1795509078996642, 1795509078996642, 1, 1795509179545195, 1795509089556937, NULL, NULL, NULL, 0, 0, NULL, 'none', NULL, NULL, 1795509078999108, 0, NULL, NULL);
INSERT INTO routine_runs VALUES ('01a20cae-5bf0-7f04-b2e9-0968d8cd9e88', '01a20cae-0cfc-771b-b969-499eede23db7', 'manual:01a20cae-5be2-7633-a8bd-ac3a1a120720', 'manual', '{"by": "manual", "request_id": "01a20cae-5be2-7633-a8bd-ac3a1a120720", "user_id": "owner"}', NULL, 'running', 1795509083121044, 1795509083121044, 1, 1795509179545195, 1795509089556937, NULL, NULL, NULL, 349, 16, NULL, 'none', NULL, NULL, 1795509083123728, 0, '{"tools": ["shell"], "grants": ["shell *"], "rounds": 3}', NULL);
DELETE FROM notices;
INSERT INTO notices VALUES ('routine:01a20cae-3a37-7ebc-adfc-91458fd6d0f6', 10, '[]', 1795509075060111);
DELETE FROM tool_halt;
DELETE FROM tool_uses;
INSERT INTO tool_uses VALUES (1, 'owner', 'shell', 1795509070958371);
INSERT INTO tool_uses VALUES (2, 'owner', 'shell', 1795509075201551);
INSERT INTO tool_uses VALUES (3, 'owner', 'shell', 1795509089666098);
INSERT INTO tool_uses VALUES (4, 'owner', 'shell', 1795509090322430);
DELETE FROM audit;
INSERT INTO audit VALUES (1, 1795509027735591, 'policy', NULL, 'policy', NULL, '{"approvals":{"approvers":"requester","autonomous_denylist":["routine_create","routine_update","routine_delete","routine_fire","event_emit","create_job","job_prompt","restart","tool_install","tool_auth","tool_remove","tool_upgrade","skill_install","skill_remove","secret_list","secret_delete"],"dangerous_operations":["delete","write","execute","modify"],"dangerous_tools":["shell","write_file","apply_patch","delete_file","http"],"expires_after_s":86400.0,"loop_timeout_s":300.0,"max_rounds":5,"max_tools":20,"preset":"auto_loop","quorum":1,"rules":[],"shell_per_hour":300,"shell_per_minute":30,"tool_timeout_s":30.0,"tool_timeouts":{"shell":120.0},"whitelist":["time","json","echo","ask_user","memory_write","memory_read","memory_search","memory_tree","tool_list","tool_info","list_jobs","job_status","job_events","message","read_attachment"]},"owner":"owner","owner_identities":["telegram:7"],"policy":{"ceiling":{},"ceiling_for":{},"disabled":[],"disabled_for":{},"unreadable":null},"roles":{"guest":{"daily_model_calls":50,"tools":["time","json","ask_user"]},"member":{"ask_owner":false,"tools":["shell","write_file","time"]}},"teams":{}}', '0d1ac53a3bcb4cab', X'CF66AF74541DDEDAE739D0CD9EF46AA2806A855ADA0AA244FBCF2E3C899CB6FC', '0d1ac53a3bcb4cab:30cc86b75fa8e9095a9f12eecefd63270a1a944cebf4ae93fc7c7a3203988e77');
INSERT INTO audit VALUES (2, 1795509030702950, 'role', NULL, '01a20cad-8f24-73fd-b417-ce10156f63b0', NULL, '{"before":null,"role":"member"}', '0d1ac53a3bcb4cab', X'902F24BBB71EEC0BF02E32B397560F4DE28A5164D7792652507300642550D586', '0d1ac53a3bcb4cab:7d1b033c1b29ba01a11cfdfa630cad5f198e41b3de45eff2fe7e39cfad60ab63');
INSERT INTO audit VALUES (3, 1795509030762485, 'linked', NULL, 'telegram:8', NULL, '{"user":"01a20cad-8f24-73fd-b417-ce10156f63b0"}', '0d1ac53a3bcb4cab', X'2E66A265B31CA5D55CAC82E132FC1E488C46B765FC066CB5B2DC9935E77095A0', '0d1ac53a3bcb4cab:f930c27f02f0edd3517e84c38aceccaf164bcbb99001e27fc9711bfc57573499');
INSERT INTO audit VALUES (4, 1795509034507924, 'role', NULL, '01a20cad-9e0b-7b28-a913-43f2b558b7d1', NULL, '{"before":null,"role":"member"}', '0d1ac53a3bcb4cab', X'47395536FF06F745A91F4217F9D8F51756D49C351F46122D9D4FE0C7428F2799', '0d1ac53a3bcb4cab:fd9841371572b94aa704f879bf9694b83407a01e7e3f691cdf6eceb485853366');
INSERT INTO audit VALUES (5, 1795509034524517, 'linked', NULL, 'telegram:10', NULL, '{"user":"01a20cad-9e0b-7b28-a913-43f2b558b7d1"}', '0d1ac53a3bcb4cab', X'3E9B91E6479735518BF3A2C6A9902D5B1E570EF1E0EC1877564B48AB0E2C964A', '0d1ac53a3bcb4cab:cc8a6bce6ade0a1668d83743a543710e5b9cf6ac5333d645d5aa1b40b3fb4ce6');
INSERT INTO audit VALUES (6, 1795509037667019, 'role', NULL, '01a20cad-aa62-747d-88a2-ee876325e4bd', NULL, '{"before":null,"role":"member"}', '0d1ac53a3bcb4cab', X'56B5ADE5AB619C40FB0A86D23958B6983F7C26BC2537DBFF56D68DEA5CF48090', '0d1ac53a3bcb4cab:32ccc9d7b76c13524ca42a4c1352c888fb1828b4f4a6d47632a370154368d790');
INSERT INTO audit VALUES (7, 1795509037684127, 'linked', NULL, 'telegram:11', NULL, '{"user":"01a20cad-aa62-747d-88a2-ee876325e4bd"}', '0d1ac53a3bcb4cab', X'9F4C33B26915185FE92960655C879C2F103E40ED7830178484C2A0B2D4CB968E', '0d1ac53a3bcb4cab:223cd5050583d8b3a26b9151a3f34e72c52113bb224f01d5f5bf706b76286c4f');
INSERT INTO audit VALUES (8, 1795509040739010, 'role', NULL, '01a20cad-b65e-7458-bd51-9d71d0358bc1', NULL, '{"before":null,"role":"member"}', '0d1ac53a3bcb4cab', X'08F45F314BDB0CAD921CDEB7DEB3673D80A7D92D320DB91BAEEFDC1423EDA34D', '0d1ac53a3bcb4cab:b499e0e9f7c23ecf240d7faf6417ffaa45fef2f0b73be6f9d4a439d070dd06c4');
INSERT INTO audit VALUES (9, 1795509040765425, 'linked', NULL, 'telegram:9', NULL, '{"user":"01a20cad-b65e-7458-bd51-9d71d0358bc1"}', '0d1ac53a3bcb4cab', X'959FDBAADAC1B8E48367A52CA75B3419845E95B0ABD77FEF4871628D90A75228', '0d1ac53a3bcb4cab:2ae2cab7ac565a376a18919b59fccf328ca91bb5af2faefd9bfc38e1165c0255');
INSERT INTO audit VALUES (10, 1795509045972946, 'secret_set', 'owner', 'garden', NULL, '{"key":"1493740f0f04750f"}', '0d1ac53a3bcb4cab', X'BD171D5217A4BE4BC5B62FDB917E3906A9E413AC1B1FB63FDBF8977A5D08C9D7', '0d1ac53a3bcb4cab:a8023763a4b4adc154cb02c8ab62d7b41094953eaa5440499c373961b233556e');
INSERT INTO audit VALUES (11, 1795509070671228, 'account', NULL, 'telegram:7', NULL, '{"event":"tg:123456:m:7:1","user":"owner","via":"config"}', '0d1ac53a3bcb4cab', X'0700A9391DBB741B955F1FA64653AE2D5EF5F9F9975F8450FC69B78875FD3FE0', '0d1ac53a3bcb4cab:cd8d9c58cddd17335a9b124c90ad82c0f339ce9a799f13d0cbaedcae3ecba7bf');
INSERT INTO audit VALUES (12, 1795509070911991, 'asked', 'owner', 'z3xsf69zvf', '01a20cae-2bbb-70f4-9559-bc5a0b49dec6', '{"about":"approval","approvers":[],"binding":"97e5a018cee10d305dbd12db728cff57cf72aa814690e437b318605b7c6189e5","call":"01a20cae-2be4-7a4e-9a01-35e61687d639","calls":[],"events":["tg:123456:m:-1000002000001:11"],"quorum":1,"tool":"shell"}', '0d1ac53a3bcb4cab', X'DBFC6340E01546EF083C301C8A36F0D5CAA319386FF6F86010F3BF58D9526014', '0d1ac53a3bcb4cab:4660c8366104bdb93c45958622ee5f30b47fb6cc0e95d52ecea4c0e34f09bb01');
INSERT INTO audit VALUES (13, 1795509070946373, 'granted', 'owner', '01a20cae-2c61-7ac2-8265-d581fe3bf960', NULL, '{"event":"tg:123456:cb:4382000000000000001","expires_at":null,"pattern":">> granted.txt echo granted","scope":"user","tool":"shell","user":"owner"}', '0d1ac53a3bcb4cab', X'3267C42FEF1F04D32E91365A7E9D5D4A9583EA4520BC83C533D44D04C8F40DC6', '0d1ac53a3bcb4cab:c30d02ef4487625f3ae4968def2b6848812b2139a08b01a80945aaf3cb04b2a2');
INSERT INTO audit VALUES (14, 1795509070946911, 'vote', 'owner', 'z3xsf69zvf', '01a20cae-2bbb-70f4-9559-bc5a0b49dec6', '{"answer":"always","event":"tg:123456:cb:4382000000000000001"}', '0d1ac53a3bcb4cab', X'07FC3E2CA1C0986B249030D6EC3FAF3DF0D141BAEDCEF14603750A7EE47AB51E', '0d1ac53a3bcb4cab:365e4bc09c236245ba348e5f29b90fe358c2bf16bbc3e6d54666d2a5bc55ddef');
INSERT INTO audit VALUES (15, 1795509070947349, 'decided', 'owner', 'z3xsf69zvf', '01a20cae-2bbb-70f4-9559-bc5a0b49dec6', '{"about":"approval","call":"01a20cae-2be4-7a4e-9a01-35e61687d639","event":"tg:123456:cb:4382000000000000001","events":["tg:123456:m:-1000002000001:11"],"outcome":"always"}', '0d1ac53a3bcb4cab', X'64A90919CA51E37C5B04B80971A56043CF55441B28021D638B0181AE8A328469', '0d1ac53a3bcb4cab:72f491e4d131f2e7cbaeb5b9ae5c4d15a4106998c2c31c518f74041a05cce1e1');
INSERT INTO audit VALUES (16, 1795509070961172, 'started', 'owner', '01a20cae-2be4-7a4e-9a01-35e61687d639', '01a20cae-2bbb-70f4-9559-bc5a0b49dec6', '{"arguments":"77ace1d074539eea713bece529f0e3771986735ab970bd9e0adb2fe7f44a3348","events":["tg:123456:m:-1000002000001:11"],"tool":"shell"}', '0d1ac53a3bcb4cab', X'267B8E6809ACCAD2894E36239AA361AF46FF4ABAEE5538FE6703F98019024740', '0d1ac53a3bcb4cab:8b17c5ebf92fe117aa5d4acb3387866cc42c78a417b07070c93c7fe59d17fb7a');
INSERT INTO audit VALUES (17, 1795509071264580, 'ended', 'owner', '01a20cae-2be4-7a4e-9a01-35e61687d639', '01a20cae-2bbb-70f4-9559-bc5a0b49dec6', '{"arguments":"77ace1d074539eea713bece529f0e3771986735ab970bd9e0adb2fe7f44a3348","ended_at":1795509071264081,"events":["tg:123456:m:-1000002000001:11"],"started_at":1795509070958542,"status":"ok","tool":"shell"}', '0d1ac53a3bcb4cab', X'BDCA0B0783D10435AEBC9B135497787E501FB513278AB7763DC7199E67D1F64D', '0d1ac53a3bcb4cab:4b8f54cc03e84174a90bb7d107c80df6e9e13cd2c6b00b404afcf54e782e8f86');
INSERT INTO audit VALUES (18, 1795509071578028, 'policy', NULL, 'policy', NULL, '{"approvals":{"approvers":"requester","autonomous_denylist":["routine_create","routine_update","routine_delete","routine_fire","event_emit","create_job","job_prompt","restart","tool_install","tool_auth","tool_remove","tool_upgrade","skill_install","skill_remove","secret_list","secret_delete"],"dangerous_operations":["delete","write","execute","modify"],"dangerous_tools":["shell","write_file","apply_patch","delete_file","http"],"expires_after_s":86400.0,"loop_timeout_s":300.0,"max_rounds":3,"max_tools":20,"preset":"auto_loop","quorum":1,"rules":[{"approvers":"team:ops","ask_in":"","escalate_after_s":null,"escalate_to":null,"not_requester":false,"quorum":2,"risk":null,"role":null,"tool":"write_file"}],"shell_per_hour":300,"shell_per_minute":30,"tool_timeout_s":30.0,"tool_timeouts":{"shell":120.0},"whitelist":["time","json","echo","ask_user","memory_write","memory_read","memory_search","memory_tree","tool_list","tool_info","list_jobs","job_status","job_events","message","read_attachment"]},"owner":"owner","owner_identities":["telegram:7"],"policy":{"ceiling":{},"ceiling_for":{},"disabled":[],"disabled_for":{},"unreadable":null},"roles":{"guest":{"daily_model_calls":50,"tools":["time","json","ask_user"]},"member":{"ask_owner":false,"tools":["shell","write_file","time"]}},"teams":{"ops":["owner","01a20cad-b65e-7458-bd51-9d71d0358bc1"]}}', '0d1ac53a3bcb4cab', X'D46C7B50687238E4842CE2CC0347FEA2C43F716FA65D843300A6290A1D11D6A3', '0d1ac53a3bcb4cab:2aac577b3493be2378fa89d500fe67623411f6b5e08f78bb96a4f7a650ec499c');
INSERT INTO audit VALUES (19, 1795509075027600, 'answered', NULL, '01a20cae-2bbb-766f-927b-cce29eb57c7a', '01a20cae-2bbb-70f4-9559-bc5a0b49dec6', '{"events":["tg:123456:m:-1000002000001:11"],"outbox":[9],"state":"done"}', '0d1ac53a3bcb4cab', X'F985E12D546D128BE1D66FA8CF73A3D41CB73BDF731B9DBBA4206117ACD2B45F', '0d1ac53a3bcb4cab:75aa92ac1b42d143d78cf1ea5580596eb179dde7304a4c7d747c7af5cc93fe80');
INSERT INTO audit VALUES (20, 1795509075141961, 'asked', 'owner', 'wmbbd3vzfg', '01a20cae-3c9e-700b-9b74-06902ebccd52', '{"about":"approval","approvers":[],"binding":"3bbd25624d6ab53ed06ad477e6818a24225a49f4375a77e772997cab897f3655","call":"01a20cae-3cb2-729f-bfcb-c7e20f54c100","calls":[],"events":["tg:123456:m:-1000002000001:14"],"quorum":1,"tool":"shell"}', '0d1ac53a3bcb4cab', X'4D52936FC37B4871422B1284AC16CE332D493977AE57702A496DFAE5DF12F510', '0d1ac53a3bcb4cab:06f78a5517df7a6a83458db9f2189776efde7ee6bf4a753444364983fdbff64e');
INSERT INTO audit VALUES (21, 1795509075163997, 'vote', 'owner', 'wmbbd3vzfg', '01a20cae-3c9e-700b-9b74-06902ebccd52', '{"answer":"approve","event":"tg:123456:cb:4382000000000000002"}', '0d1ac53a3bcb4cab', X'889C6444F790AC5A5CB019B7DF73BC6D0B2DD6357DE0C3543F7EF8F318DE8FD3', '0d1ac53a3bcb4cab:e18efe59439353c3b743cacec3fa30b60c8343f30401cb14b69d62dfc141a71b');
INSERT INTO audit VALUES (22, 1795509075164270, 'decided', 'owner', 'wmbbd3vzfg', '01a20cae-3c9e-700b-9b74-06902ebccd52', '{"about":"approval","call":"01a20cae-3cb2-729f-bfcb-c7e20f54c100","event":"tg:123456:cb:4382000000000000002","events":["tg:123456:m:-1000002000001:14"],"outcome":"approve"}', '0d1ac53a3bcb4cab', X'DEF46B46E298FCF008753CEBA87365498BD90F04ACC1488E8C031729DD11BAC9', '0d1ac53a3bcb4cab:f42d08dd13c9be61158b42136564805c2e97c467bbfde6248b8769f11eb5fd29');
INSERT INTO audit VALUES (23, 1795509075201793, 'started', 'owner', '01a20cae-3cb2-729f-bfcb-c7e20f54c100', '01a20cae-3c9e-700b-9b74-06902ebccd52', '{"arguments":"d85c855954759e9fc6d918a4e69372d36cd250f020438d07f1160d1eaead2503","events":["tg:123456:m:-1000002000001:14"],"tool":"shell"}', '0d1ac53a3bcb4cab', X'AB97BD65502F50CF4FD71BF14192CC2BA7473C40FB027852F49687B760FEEA85', '0d1ac53a3bcb4cab:b0e2883e531b00b938319847c741f1ee0215f831d6a8c31d7ea9bc23f003524a');
INSERT INTO audit VALUES (24, 1795509088784187, 'asked', 'owner', 'rsraas3ry1', '01a20cae-3c9e-700b-9b74-06902ebccd52', '{"about":"unknown_outcome","approvers":[],"binding":"3bbd25624d6ab53ed06ad477e6818a24225a49f4375a77e772997cab897f3655","call":"01a20cae-3cb2-729f-bfcb-c7e20f54c100","calls":[],"events":["tg:123456:m:-1000002000001:14"],"quorum":1,"tool":"shell"}', '0d1ac53a3bcb4cab', X'2B3768B5A51F44C3FCA2928B1797360C22D2F8698B805E4A6B55C16CEA5644B0', '0d1ac53a3bcb4cab:19bc32dc56d24073e378e378032f207a4c8f35b4871d60383277e32f8272dfea');
INSERT INTO audit VALUES (25, 1795509089666434, 'started', 'owner', '01a20cae-7541-77ce-a282-978acda250d8', NULL, '{"arguments":"0f09ddd7553db24a14930b35b2671a56f29f964885ecbd5bcb5d5648d4b1bf3c","run":"01a20cae-5bf0-7f04-b2e9-0968d8cd9e88","tool":"shell","trigger":"manual:01a20cae-5be2-7633-a8bd-ac3a1a120720"}', '0d1ac53a3bcb4cab', X'E16353102C65FBD1F7067FA0EE70EEF10355FD0DA7247EA46100847FCED9EE54', '0d1ac53a3bcb4cab:64c37cefbf5a3a5e21554f8c71b0540273407f80dda38618969d246beeb5cdd6');
INSERT INTO audit VALUES (26, 1795509089913628, 'asked', 'owner', '7e29d5ef88', '01a20cae-7660-7bc0-8ddb-456212def4d3', '{"about":"approval","approvers":[],"binding":"7e45fc88ebeede8b8eeadc7acc2892b010a4c0dcefff22d9b6899ffc1040dcf9","call":"01a20cae-7674-7792-9b63-d035b6dd7e26","calls":[],"events":["tg:123456:m:-1000002000001:17"],"quorum":1,"tool":"shell"}', '0d1ac53a3bcb4cab', X'930E298E213896C18EAED50CAD5F63E23745512FB3F4A491F03430268A5FDF7D', '0d1ac53a3bcb4cab:afc596904f6b677a83b8647095ffdcd0dc82e81306e036c2712187317ccae971');
INSERT INTO audit VALUES (27, 1795509089998671, 'asked', 'owner', 't3erqkd9ax', '01a20cae-7691-7a50-9408-cdac30ef58f8', '{"about":"approval","approvers":[],"binding":"6a69893f4785b08d73b725a2b463ce9bc2bef8de66f42b0b3559bd1f152a0624","call":null,"calls":["01a20cae-76b8-75de-90fe-57e9b64b0030","01a20cae-76b8-77b8-be70-7e9b1bbcc26e"],"events":["tg:123456:m:-1000002000001:19"],"quorum":1,"tool":null}', '0d1ac53a3bcb4cab', X'F20756612CB9B96535AE35BDCDB3CAC3C6E5C2B44F471C2F3C8D0895D4F02E2A', '0d1ac53a3bcb4cab:5f206c61707a8e8a022ccd6513e391c452037047721c6ad61307b0e80b69a2d1');
INSERT INTO audit VALUES (28, 1795509090043975, 'asked', 'owner', 'nrkqxzk2zd', '01a20cae-76e5-7b91-bf42-a849f2955ef8', '{"about":"question","approvers":["owner"],"binding":"","call":"01a20cae-76f8-7ec4-889d-ed786a098589","calls":[],"events":["tg:123456:m:-1000002000001:21"],"quorum":1,"tool":"ask_user"}', '0d1ac53a3bcb4cab', X'8202651D2AD7822FE7DDE1C2232E0FFCF1B3EE08C2EEAC2FCD9E413E9B8F9512', '0d1ac53a3bcb4cab:c601be943bd3b28f4d9031f1f0d5bbf102375e69646c7e36c4f0a827efae5eab');
INSERT INTO audit VALUES (29, 1795509090112951, 'ended', 'owner', '01a20cae-7739-74ae-9fd3-cea443a453c0', '01a20cae-7722-7ba1-ad2a-e2edd3d63e11', '{"arguments":"90d8aa99c91ad1d67bff4cc65b6c70783814d99a0454890ff8d9ea0d38d32198","ended_at":1795509090112550,"events":["tg:123456:m:-1000002000001:23"],"started_at":1795509090111721,"status":"ok","tool":"time"}', '0d1ac53a3bcb4cab', X'C6EDC093D30EE8C1FE1EB57A4BDE272DD34131C139F60EF8BD161DBE21402112', '0d1ac53a3bcb4cab:8fda52374c4581febd9c1d60c1255c191aca5588e8faa3742f98e4cb88a28dee');
INSERT INTO audit VALUES (30, 1795509090122618, 'ended', 'owner', '01a20cae-7748-729b-88a5-06528a799bb8', '01a20cae-7722-7ba1-ad2a-e2edd3d63e11', '{"arguments":"90d8aa99c91ad1d67bff4cc65b6c70783814d99a0454890ff8d9ea0d38d32198","ended_at":1795509090122424,"events":["tg:123456:m:-1000002000001:23"],"started_at":1795509090121758,"status":"ok","tool":"time"}', '0d1ac53a3bcb4cab', X'35EC737D8FD9EECB43B5F12AE0E0FC91EAE071DEB9FCAA35DB24FF2DBA2569E5', '0d1ac53a3bcb4cab:2352961cc6314cbd39d54efa685e190e0601885a7c5cd595138edb0e9a92477b');
INSERT INTO audit VALUES (31, 1795509090132941, 'ended', 'owner', '01a20cae-7751-790c-a442-eb2a08c4db34', '01a20cae-7722-7ba1-ad2a-e2edd3d63e11', '{"arguments":"90d8aa99c91ad1d67bff4cc65b6c70783814d99a0454890ff8d9ea0d38d32198","ended_at":1795509090132761,"events":["tg:123456:m:-1000002000001:23"],"started_at":1795509090132137,"status":"ok","tool":"time"}', '0d1ac53a3bcb4cab', X'47F73B723B19887B9D471127F9B478FDC107CB800A623913467C8442F40D50FC', '0d1ac53a3bcb4cab:8cd87c669d9ed2c280947ece2b64476d9a187ef05e9343f05387dd493ad47513');
INSERT INTO audit VALUES (32, 1795509090134420, 'asked', 'owner', 's31x0j2tfp', '01a20cae-7722-7ba1-ad2a-e2edd3d63e11', '{"about":"continue","approvers":[],"binding":"","call":null,"calls":[],"events":["tg:123456:m:-1000002000001:23"],"quorum":1,"tool":null}', '0d1ac53a3bcb4cab', X'B451CF75F91921F23212F8A32D35E57809BC82D7E8E5D80C26E9AFB29E630B28', '0d1ac53a3bcb4cab:a4d167689db727bbbd7ac01eca63a3ba7d3d9836a3f6b4d6ae0f3c77a585e38a');
INSERT INTO audit VALUES (33, 1795509090178752, 'asked', '01a20cad-8f24-73fd-b417-ce10156f63b0', 'peev3mf48k', '01a20cae-7765-751a-bac0-d3c80ef545e8', '{"about":"approval","approvers":["owner","01a20cad-b65e-7458-bd51-9d71d0358bc1"],"binding":"95f28e7d0fc2d1fc2625d5ac6a1764f5eb272d8f1fbcb89960ba0310c98c6d66.e48c15563a3bd68efd450ce26b0a04097dd74cf37a077af86bd12546a09cc072","call":"01a20cae-776a-76e7-95f0-527aa3e4c447","calls":[],"events":["tg:123456:m:8:12"],"quorum":2,"tool":"write_file"}', '0d1ac53a3bcb4cab', X'969C4339097EAD62A3B47C263BAAE7811801FB8541EEAF274FF79270C41783D5', '0d1ac53a3bcb4cab:e14b4d3eb92eb6b0aea8f014eb59400c1c419f2cd6314d2ec69bacfab40663ed');
INSERT INTO audit VALUES (34, 1795509090219154, 'vote', '01a20cad-b65e-7458-bd51-9d71d0358bc1', 'peev3mf48k', '01a20cae-7765-751a-bac0-d3c80ef545e8', '{"answer":"approve","event":"tg:123456:cb:4382000000000000003"}', '0d1ac53a3bcb4cab', X'6E060E6627E863E09C1CF0CF9639B4110500238FBFBF4E714E16E36785AA4F61', '0d1ac53a3bcb4cab:5b0a676456aa9dcbb00af52cf0d6084fa22f4a6169be9bf08b9bfa951bb9bcdb');
INSERT INTO audit VALUES (35, 1795509090262231, 'asked', 'owner', 'wsys2jrvmq', '01a20cae-77b9-71cb-9055-490dc615a488', '{"about":"approval","approvers":[],"binding":"be6b9e6bc555ea7b05c85e8f82067b1923c3499d43914d550151f57d6b04b747","call":"01a20cae-77c7-7bed-b625-76af9e9459c9","calls":[],"events":["tg:123456:m:-1000002000001:25"],"quorum":1,"tool":"shell"}', '0d1ac53a3bcb4cab', X'0FCA27F8537168B67455E36A831A0C6FACBAE7A97873D02E7726ECD38EB47914', '0d1ac53a3bcb4cab:853660ae286afe920424c7c3b0338f1c22485f92b61031ff2dcf758855032130');
INSERT INTO audit VALUES (36, 1795509090296732, 'vote', 'owner', 'wsys2jrvmq', '01a20cae-77b9-71cb-9055-490dc615a488', '{"answer":"approve","event":"tg:123456:cb:4382000000000000004"}', '0d1ac53a3bcb4cab', X'71CBBEBF8DADFB61314AF39786401DAA4CB3B9A8B73FEF34F0CD722D75985116', '0d1ac53a3bcb4cab:672990f7c9f63960d6e8b890e5c550a0857401a364f18161e0ee633e885e3d2d');
INSERT INTO audit VALUES (37, 1795509090297304, 'decided', 'owner', 'wsys2jrvmq', '01a20cae-77b9-71cb-9055-490dc615a488', '{"about":"approval","call":"01a20cae-77c7-7bed-b625-76af9e9459c9","event":"tg:123456:cb:4382000000000000004","events":["tg:123456:m:-1000002000001:25"],"outcome":"approve"}', '0d1ac53a3bcb4cab', X'8B1634DE2FCA5CDE0B46D96492216A7B5D906349017F1394E0DE537E2FF65EFC', '0d1ac53a3bcb4cab:533e14d46212ac799efc5244a8aae2dc9726b7535d0b0e24a2abc6c69ef599c4');
INSERT INTO audit VALUES (38, 1795509090322635, 'started', 'owner', '01a20cae-77c7-7bed-b625-76af9e9459c9', '01a20cae-77b9-71cb-9055-490dc615a488', '{"arguments":"ebeea4f1cfe7ecfd8ad689358d3485a2eda73671d7c543e0a99a958b4e667926","events":["tg:123456:m:-1000002000001:25"],"tool":"shell"}', '0d1ac53a3bcb4cab', X'5FF856ECB0741875EC0DD7DA3CBAA14C67D11FEBA25271E1A4D311AEDFC54105', '0d1ac53a3bcb4cab:e229b4d2522dc672d7595a0119c712d624b71d68882939ee520298ec98590a62');
INSERT INTO audit VALUES (39, 1795509091621110, 'asked', 'owner', 'cbfzjq1tpf', '01a20cae-7cfd-72c9-8c81-f81fc2716151', '{"about":"question","approvers":["owner"],"binding":"","call":"01a20cae-7d1d-7563-bdee-47cd45aba09b","calls":[],"events":["tg:123456:m:7:20"],"quorum":1,"tool":"tool_auth"}', '0d1ac53a3bcb4cab', X'8CC0F82F61E86FDF07A3D4B06E3345DBE070FAEE605087005247B79F2DD449D8', NULL);
INSERT INTO audit VALUES (40, 1795509091713187, 'asked', '01a20cad-aa62-747d-88a2-ee876325e4bd', 'xj7m4rnna0', '01a20cae-7d4b-7c3d-8696-1ad75e83f629', '{"about":"approval","approvers":[],"binding":"c6299e343c0dd8fd42850c64a5ef667b6c2beb60d5487bed3c22d68f6b07c986","call":"01a20cae-7d62-7add-b819-a4daecc1c542","calls":[],"events":["tg:123456:m:11:23"],"quorum":1,"tool":"shell"}', '0d1ac53a3bcb4cab', X'7C247B1A23E078E341E293E29ADDE1B9C77A3B1F6F5068B8DD339CD5EAA71627', NULL);
DELETE FROM audit_checkpoint;
DELETE FROM run_steps;
INSERT INTO run_steps VALUES ('01a20cae-5bf0-7f04-b2e9-0968d8cd9e88', 1, 1795509089589590, 'user', 'please run: echo tending >> tending.txt && sleep 600

# What fired the routine
A person asked for this run.', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO run_steps VALUES ('01a20cae-5bf0-7f04-b2e9-0968d8cd9e88', 2, 1795509089601347, 'assistant', '', NULL, NULL, '["openai","sim-1",""]', NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO run_steps VALUES ('01a20cae-5bf0-7f04-b2e9-0968d8cd9e88', 3, 1795509089601421, 'call', '{"command":"echo tending >> tending.txt && sleep 600"}', '01a20cae-7541-77ce-a282-978acda250d8', 'shell', NULL, 'effect', 'running', 16078, 16078, 840834, 1795509089666256, NULL);
DELETE FROM outbound_judged;
DELETE FROM hooked_sessions;
DELETE FROM model_calls;
CREATE INDEX identities_by_user ON identities (user_id);
CREATE INDEX thread_keys_by_thread ON thread_keys (thread_id);
CREATE UNIQUE INDEX turns_active ON turns (thread_id) WHERE state IN ('running', 'waiting');
CREATE INDEX entries_summaries ON entries (thread_id, seq) WHERE kind = 'summary';
CREATE INDEX inbox_waiting ON inbox (thread_id, order_key) WHERE outcome = 'waiting';
CREATE INDEX calls_by_turn ON calls (turn_id, seq);
CREATE INDEX calls_running ON calls (turn_id) WHERE state = 'running';
CREATE INDEX prompts_open ON prompts (thread_id, created_at) WHERE state = 'open';
CREATE INDEX prompts_expiring ON prompts (expires_at) WHERE state = 'open';
CREATE INDEX prompts_by_turn ON prompts (turn_id, kind, created_at);
CREATE INDEX grants_by_user ON grants (user_id, tool);
CREATE INDEX memories_newest ON memories (user_id, id);
CREATE INDEX inbox_counted ON inbox (channel, platform_user_id, received_at) WHERE counted = 1;
CREATE INDEX refusals_told ON refusals (channel, answered_at);
CREATE UNIQUE INDEX pairing_requests_open ON pairing_requests (channel, platform_user_id) WHERE state = 'open';
CREATE UNIQUE INDEX pairing_requests_code ON pairing_requests (code) WHERE state = 'open';
CREATE INDEX pairing_requests_by_sender ON pairing_requests (channel, platform_user_id, created_at);
CREATE INDEX pairing_requests_by_age ON pairing_requests (created_at);
CREATE UNIQUE INDEX link_offers_open ON link_offers (user_id) WHERE used_at IS NULL;
CREATE INDEX wrong_codes_by_guesser ON wrong_codes (guesser, at);
CREATE INDEX wrong_codes_by_time ON wrong_codes (at);
CREATE INDEX outbox_unsettled ON outbox (channel, address) WHERE settled = 0;
CREATE INDEX outbox_cards ON outbox (prompt_id) WHERE prompt_id IS NOT NULL;
CREATE INDEX outbox_by_turn ON outbox (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX outbox_by_event ON outbox (event_id) WHERE event_id IS NOT NULL;
CREATE INDEX outbox_edits ON outbox (edit_of) WHERE edit_of IS NOT NULL;
CREATE INDEX outbox_replacing ON outbox (replaces) WHERE replaces IS NOT NULL;
CREATE UNIQUE INDEX outbox_streaming ON outbox (turn_id) WHERE state = 'streaming';
CREATE INDEX inbox_album ON inbox (album) WHERE album IS NOT NULL;
CREATE INDEX api_keys_by_user ON api_keys (user_id, kind);
CREATE UNIQUE INDEX routines_by_path ON routines (webhook_path) WHERE webhook_path IS NOT NULL;
CREATE INDEX routines_by_slot ON routines (next_slot_at) WHERE enabled = 1 AND next_slot_at IS NOT NULL;
CREATE INDEX routine_runs_waiting ON routine_runs (not_before, due_at) WHERE state = 'waiting';
CREATE INDEX routine_runs_running ON routine_runs (routine_id) WHERE state = 'running';
CREATE INDEX routine_runs_by_age ON routine_runs (routine_id, created_at);
CREATE INDEX routine_runs_notices ON routine_runs (notice_at) WHERE notice_state = 'due';
CREATE UNIQUE INDEX routine_runs_menus ON routine_runs (menu_id) WHERE menu_id IS NOT NULL;
CREATE UNIQUE INDEX notices_by_row ON notices (outbox_id);
CREATE INDEX calls_by_thread ON calls (thread_id, seq);
CREATE INDEX prompts_reminding ON prompts (remind_at) WHERE state = 'open' AND remind_at IS NOT NULL;
CREATE INDEX prompts_escalating ON prompts (escalate_at) WHERE state = 'open' AND escalate_at IS NOT NULL;
CREATE INDEX tool_uses_lately ON tool_uses (user_id, tool, at);
CREATE UNIQUE INDEX memories_by_path ON memories (user_id, path) WHERE path IS NOT NULL;
CREATE INDEX audit_unlinked ON audit (id) WHERE link IS NULL;
CREATE INDEX audit_by_subject ON audit (subject);
CREATE UNIQUE INDEX run_steps_calls ON run_steps (call_id) WHERE kind = 'call';
CREATE INDEX prompts_secret ON prompts (requester_id, awaits) WHERE secret IS NOT NULL;
PRAGMA user_version = 20;
COMMIT;
