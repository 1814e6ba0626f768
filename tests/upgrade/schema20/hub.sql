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
INSERT INTO users VALUES ('01a207ff-e11a-763d-aed5-2d5770d03132', 'member', 'Ben', 1795430539547111, NULL, NULL);
INSERT INTO users VALUES ('01a207ff-e633-78d6-87f9-99c03e554a12', 'member', 'Dan', 1795430540851621, NULL, NULL);
INSERT INTO users VALUES ('01a207ff-ed07-71a2-af92-d467a3216806', 'member', 'Lea', 1795430542599331, NULL, NULL);
INSERT INTO users VALUES ('owner', 'owner', 'owner', 1795430537767871, NULL, NULL);
DELETE FROM identities;
INSERT INTO identities VALUES ('telegram', '10', '01a207ff-e633-78d6-87f9-99c03e554a12', 'paired', '10', NULL, 1795430541345518, NULL, NULL, '10');
INSERT INTO identities VALUES ('telegram', '7', 'owner', 'config', 'Olivia', NULL, 1795430548099015, NULL, NULL, '7');
INSERT INTO identities VALUES ('telegram', '8', '01a207ff-e11a-763d-aed5-2d5770d03132', 'paired', '8', NULL, 1795430539564340, NULL, NULL, '8');
INSERT INTO identities VALUES ('telegram', '9', '01a207ff-ed07-71a2-af92-d467a3216806', 'paired', '9', NULL, 1795430542607332, NULL, NULL, '9');
DELETE FROM refusals;
DELETE FROM noise;
DELETE FROM threads;
INSERT INTO threads VALUES ('01a20800-02ab-7e97-9840-47b2f411ce66', 'owner', 'telegram', '=-1000002000001:10', '-1000002000001:10', 'please run: echo granted >> granted.txt', NULL, 1795430548139124, 1795430548139313, 7, 1, NULL);
INSERT INTO threads VALUES ('01a20800-084a-7d5f-88fe-4339c334291a', 'owner', 'telegram', '=-1000002000001:5', '-1000002000001:5', 'please run: echo unknown >> unknown.txt && sleep 600', NULL, 1795430549578557, 1795430549578634, 6, 1, NULL);
INSERT INTO threads VALUES ('01a20800-1124-71e3-9497-6733cbbdc55b', 'owner', 'telegram', '=-1000002000001:2', '-1000002000001:2', 'please run: echo approved >> approved.txt', NULL, 1795430551844484, 1795430551848349, 4, 1, NULL);
INSERT INTO threads VALUES ('01a20800-1167-7d6b-b9a9-edf1b123e25e', 'owner', 'telegram', '=-1000002000001:3', '-1000002000001:3', 'please run: echo one >> joint.txt', NULL, 1795430551911330, 1795430551911392, 5, 1, NULL);
INSERT INTO threads VALUES ('01a20800-1179-70e8-8d2a-a6a17ff4140c', 'owner', 'telegram', '=-1000002000001:4', '-1000002000001:4', 'please call: ask_user {"question": "Which color?", "choices": ["red", "dark gree', NULL, 1795430551929817, 1795430551929868, 4, 1, NULL);
INSERT INTO threads VALUES ('01a20800-118b-711c-bace-e47a6f6b9213', 'owner', 'telegram', '=-1000002000001:6', '-1000002000001:6', 'count for ever', NULL, 1795430551947475, 1795430551947525, 11, 1, NULL);
INSERT INTO threads VALUES ('01a20800-119a-737a-9839-02463686bbaa', '01a207ff-e11a-763d-aed5-2d5770d03132', 'telegram', '=8', '8', 'please call: write_file {"path": "quorum.txt", "content": "by two\n"}', NULL, 1795430551962317, 1795430551962378, 5, 1, NULL);
INSERT INTO threads VALUES ('01a20800-11b9-7a86-bc88-a6d72e2f46b5', 'owner', 'telegram', '=-1000002000001:7', '-1000002000001:7', 'please run: echo running >> running.txt && sleep 600', NULL, 1795430551993688, 1795430551993730, 5, 1, NULL);
INSERT INTO threads VALUES ('01a20800-1207-738b-b594-736a0093deaf', '01a207ff-e633-78d6-87f9-99c03e554a12', 'telegram', '=10', '10', 'say: Sent to Dan.', NULL, 1795430552071893, 1795430552071919, 2, 1, NULL);
INSERT INTO threads VALUES ('01a20800-1207-7920-b950-ffdd175a3bbb', 'owner', 'telegram', '=-1000002000001:8', '-1000002000001:8', 'hold the turn', NULL, 1795430552071534, 1795430552071602, 1, 1, NULL);
INSERT INTO threads VALUES ('01a20800-120e-74f5-a7ba-f8179b6f9e6d', 'owner', 'telegram', '=-1000002000001:9', '-1000002000001:9', 'tell the story', NULL, 1795430552078778, 1795430552078819, 1, 1, NULL);
INSERT INTO threads VALUES ('01a20800-1602-715e-aa7b-ad474d05e51d', 'owner', 'telegram', '=7', '7', 'please call: tool_auth {"name": "shed", "purpose": "to open the shed"}', NULL, 1795430553090128, 1795430553090192, 4, 1, NULL);
INSERT INTO threads VALUES ('01a20800-160d-7231-97ed-6187a464a3ac', '01a207ff-ed07-71a2-af92-d467a3216806', 'telegram', '=9', '9', 'say: Sent to Lea.', NULL, 1795430553101665, 1795430553101717, 2, 1, NULL);
DELETE FROM thread_keys;
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:10', '01a20800-02ab-7e97-9840-47b2f411ce66');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:5', '01a20800-084a-7d5f-88fe-4339c334291a');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:2', '01a20800-1124-71e3-9497-6733cbbdc55b');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:3', '01a20800-1167-7d6b-b9a9-edf1b123e25e');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:4', '01a20800-1179-70e8-8d2a-a6a17ff4140c');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:6', '01a20800-118b-711c-bace-e47a6f6b9213');
INSERT INTO thread_keys VALUES ('01a207ff-e11a-763d-aed5-2d5770d03132', 'telegram', '=8', '01a20800-119a-737a-9839-02463686bbaa');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:7', '01a20800-11b9-7a86-bc88-a6d72e2f46b5');
INSERT INTO thread_keys VALUES ('01a207ff-e633-78d6-87f9-99c03e554a12', 'telegram', '=10', '01a20800-1207-738b-b594-736a0093deaf');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:8', '01a20800-1207-7920-b950-ffdd175a3bbb');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:9', '01a20800-120e-74f5-a7ba-f8179b6f9e6d');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=7', '01a20800-1602-715e-aa7b-ad474d05e51d');
INSERT INTO thread_keys VALUES ('01a207ff-ed07-71a2-af92-d467a3216806', 'telegram', '=9', '01a20800-160d-7231-97ed-6187a464a3ac');
DELETE FROM sessions;
INSERT INTO sessions VALUES ('01a207ff-e11a-763d-aed5-2d5770d03132', '01a20800-119a-737a-9839-02463686bbaa', 1795430551962350);
INSERT INTO sessions VALUES ('01a207ff-e633-78d6-87f9-99c03e554a12', '01a20800-1207-738b-b594-736a0093deaf', 1795430552071907);
INSERT INTO sessions VALUES ('01a207ff-ed07-71a2-af92-d467a3216806', '01a20800-160d-7231-97ed-6187a464a3ac', 1795430553101690);
INSERT INTO sessions VALUES ('owner', '01a20800-1602-715e-aa7b-ad474d05e51d', 1795430548139241);
DELETE FROM turns;
INSERT INTO turns VALUES ('01a20800-02ab-72a3-9b50-bdf105cd5d8f', '01a20800-02ab-7e97-9840-47b2f411ce66', 1, 'owner', 'done', 0, 1, 7, 1, NULL, 1412391, 0, NULL, 1795430548139313, 1795430549565126, '-1000002000001:11', '["tg:123456:m:-1000002000001:11"]');
INSERT INTO turns VALUES ('01a20800-084a-71b4-9556-09dcdaaa4ecf', '01a20800-084a-7d5f-88fe-4339c334291a', 1, 'owner', 'waiting', 0, 1, 3, 1, NULL, 2129742, 0, NULL, 1795430549578634, NULL, '-1000002000001:14', '["tg:123456:m:-1000002000001:14"]');
INSERT INTO turns VALUES ('01a20800-1124-72f6-8c6f-0fa7be93db21', '01a20800-1124-71e3-9497-6733cbbdc55b', 1, 'owner', 'waiting', 0, 1, 3, 1, NULL, 54549, 0, NULL, 1795430551848349, NULL, '-1000002000001:17', '["tg:123456:m:-1000002000001:17"]');
INSERT INTO turns VALUES ('01a20800-1167-77e5-9c25-7daf3f5b9cd6', '01a20800-1167-7d6b-b9a9-edf1b123e25e', 1, 'owner', 'waiting', 0, 1, 4, 1, NULL, 8532, 0, NULL, 1795430551911392, NULL, '-1000002000001:19', '["tg:123456:m:-1000002000001:19"]');
INSERT INTO turns VALUES ('01a20800-1179-7b12-967d-2369c317fb71', '01a20800-1179-70e8-8d2a-a6a17ff4140c', 1, 'owner', 'waiting', 0, 1, 3, 1, NULL, 13900, 0, NULL, 1795430551929868, NULL, '-1000002000001:21', '["tg:123456:m:-1000002000001:21"]');
INSERT INTO turns VALUES ('01a20800-118b-79a4-8957-dc7cc73db261', '01a20800-118b-711c-bace-e47a6f6b9213', 1, 'owner', 'waiting', 0, 1, 10, 1, NULL, 11378, 0, NULL, 1795430551947525, NULL, '-1000002000001:23', '["tg:123456:m:-1000002000001:23"]');
INSERT INTO turns VALUES ('01a20800-119a-7783-a6ba-314c7aa89caf', '01a20800-119a-737a-9839-02463686bbaa', 1, '01a207ff-e11a-763d-aed5-2d5770d03132', 'waiting', 0, 1, 3, 1, NULL, 15317, 0, NULL, 1795430551962378, NULL, NULL, '["tg:123456:m:8:10"]');
INSERT INTO turns VALUES ('01a20800-11b9-7400-ae1f-6c09c94956f2', '01a20800-11b9-7a86-bc88-a6d72e2f46b5', 1, 'owner', 'running', 1, 1, 3, 1, 1795430552007022, 6280, 0, NULL, 1795430551993730, NULL, '-1000002000001:25', '["tg:123456:m:-1000002000001:25"]');
INSERT INTO turns VALUES ('01a20800-1207-7ac3-bd6b-57c5c948b06b', '01a20800-1207-738b-b594-736a0093deaf', 1, '01a207ff-e633-78d6-87f9-99c03e554a12', 'done', 1, 1, 2, 1, NULL, 4108, 0, NULL, 1795430552071919, 1795430552076027, NULL, '["tg:123456:m:10:16"]');
INSERT INTO turns VALUES ('01a20800-1207-7e69-b347-2ca0aac9d097', '01a20800-1207-7920-b950-ffdd175a3bbb', 1, 'owner', 'running', 1, 1, 1, 1, 1795430552071602, 0, 0, NULL, 1795430552071602, NULL, '-1000002000001:27', '["tg:123456:m:-1000002000001:27"]');
INSERT INTO turns VALUES ('01a20800-120e-7d3d-b6b8-2afd5ec4801c', '01a20800-120e-74f5-a7ba-f8179b6f9e6d', 1, 'owner', 'running', 1, 1, 1, 1, 1795430552078819, 0, 0, NULL, 1795430552078819, NULL, '-1000002000001:28', '["tg:123456:m:-1000002000001:28"]');
INSERT INTO turns VALUES ('01a20800-1602-7653-9866-e962abe59ef8', '01a20800-1602-715e-aa7b-ad474d05e51d', 1, 'owner', 'waiting', 0, 1, 3, 1, NULL, 6138, 0, NULL, 1795430553090192, NULL, NULL, '["tg:123456:m:7:18"]');
INSERT INTO turns VALUES ('01a20800-160d-72e3-b5ea-7668ce6dbfeb', '01a20800-160d-7231-97ed-6187a464a3ac', 1, '01a207ff-ed07-71a2-af92-d467a3216806', 'done', 1, 1, 2, 1, NULL, 4303, 0, NULL, 1795430553101717, 1795430553106020, NULL, '["tg:123456:m:9:20"]');
DELETE FROM entries;
INSERT INTO entries VALUES ('01a20800-02ab-7e97-9840-47b2f411ce66', 1, '01a20800-02ab-72a3-9b50-bdf105cd5d8f', 1795430548139477, 'user', 'please run: echo granted >> granted.txt', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20800-02ab-7e97-9840-47b2f411ce66', 2, '01a20800-02ab-72a3-9b50-bdf105cd5d8f', 1795430548146744, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20800-02ab-7e97-9840-47b2f411ce66', 3, '01a20800-02ab-72a3-9b50-bdf105cd5d8f', 1795430548146744, 'call', '{"command":"echo granted >> granted.txt"}', '01a20800-02b2-771c-9ab3-337ab9e99030', 'shell', NULL);
INSERT INTO entries VALUES ('01a20800-02ab-7e97-9840-47b2f411ce66', 6, '01a20800-02ab-72a3-9b50-bdf105cd5d8f', 1795430548377258, 'result', '<tool_output name="shell" id="5abdeba3666825f380a94d2a">
exit code: 0

</tool_output id="5abdeba3666825f380a94d2a">', '01a20800-02b2-771c-9ab3-337ab9e99030', 'ok', NULL);
INSERT INTO entries VALUES ('01a20800-02ab-7e97-9840-47b2f411ce66', 7, '01a20800-02ab-72a3-9b50-bdf105cd5d8f', 1795430549565064, 'assistant', 'Done: <tool_output name="shell" id="5abdeba3666825f380a94d2a">
exit code: 0

</tool_output id="5abdeba3666825f380a94d2a">', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20800-084a-7d5f-88fe-4339c334291a', 1, '01a20800-084a-71b4-9556-09dcdaaa4ecf', 1795430549578674, 'user', 'please run: echo unknown >> unknown.txt && sleep 600', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20800-084a-7d5f-88fe-4339c334291a', 2, '01a20800-084a-71b4-9556-09dcdaaa4ecf', 1795430549582998, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20800-084a-7d5f-88fe-4339c334291a', 3, '01a20800-084a-71b4-9556-09dcdaaa4ecf', 1795430549582998, 'call', '{"command":"echo unknown >> unknown.txt && sleep 600"}', '01a20800-084e-7f36-912c-ab745427e9e3', 'shell', NULL);
INSERT INTO entries VALUES ('01a20800-1124-71e3-9497-6733cbbdc55b', 1, '01a20800-1124-72f6-8c6f-0fa7be93db21', 1795430551848877, 'user', 'please run: echo approved >> approved.txt', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20800-1124-71e3-9497-6733cbbdc55b', 2, '01a20800-1124-72f6-8c6f-0fa7be93db21', 1795430551861896, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20800-1124-71e3-9497-6733cbbdc55b', 3, '01a20800-1124-72f6-8c6f-0fa7be93db21', 1795430551861896, 'call', '{"command":"echo approved >> approved.txt"}', '01a20800-1135-720a-a88a-a87ab0d785d5', 'shell', NULL);
INSERT INTO entries VALUES ('01a20800-1167-7d6b-b9a9-edf1b123e25e', 1, '01a20800-1167-77e5-9c25-7daf3f5b9cd6', 1795430551911448, 'user', 'please run: echo one >> joint.txt
please run: echo two >> joint.txt', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20800-1167-7d6b-b9a9-edf1b123e25e', 2, '01a20800-1167-77e5-9c25-7daf3f5b9cd6', 1795430551916942, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20800-1167-7d6b-b9a9-edf1b123e25e', 3, '01a20800-1167-77e5-9c25-7daf3f5b9cd6', 1795430551916942, 'call', '{"command":"echo one >> joint.txt"}', '01a20800-116c-7dbf-a155-3c80e2f9839c', 'shell', NULL);
INSERT INTO entries VALUES ('01a20800-1167-7d6b-b9a9-edf1b123e25e', 4, '01a20800-1167-77e5-9c25-7daf3f5b9cd6', 1795430551916942, 'call', '{"command":"echo two >> joint.txt"}', '01a20800-116c-7f89-b077-222be9bdf509', 'shell', NULL);
INSERT INTO entries VALUES ('01a20800-1179-70e8-8d2a-a6a17ff4140c', 1, '01a20800-1179-7b12-967d-2369c317fb71', 1795430551929905, 'user', 'please call: ask_user {"question": "Which color?", "choices": ["red", "dark green"]}', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20800-1179-70e8-8d2a-a6a17ff4140c', 2, '01a20800-1179-7b12-967d-2369c317fb71', 1795430551938090, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20800-1179-70e8-8d2a-a6a17ff4140c', 3, '01a20800-1179-7b12-967d-2369c317fb71', 1795430551938090, 'call', '{"question":"Which color?","choices":["red","dark green"]}', '01a20800-1181-741d-94e9-88de84f47f7c', 'ask_user', NULL);
INSERT INTO entries VALUES ('01a20800-118b-711c-bace-e47a6f6b9213', 1, '01a20800-118b-79a4-8957-dc7cc73db261', 1795430551947560, 'user', 'count for ever', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20800-118b-711c-bace-e47a6f6b9213', 2, '01a20800-118b-79a4-8957-dc7cc73db261', 1795430551950585, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20800-118b-711c-bace-e47a6f6b9213', 3, '01a20800-118b-79a4-8957-dc7cc73db261', 1795430551950585, 'call', '{}', '01a20800-118e-7432-a6f3-79c48bd4ecc1', 'time', NULL);
INSERT INTO entries VALUES ('01a20800-118b-711c-bace-e47a6f6b9213', 4, '01a20800-118b-79a4-8957-dc7cc73db261', 1795430551952160, 'result', '<tool_output name="time" id="273e0b0a2266493e7a5e3700">
Monday, 2026-11-23 10:42:31+00:00 (UTC)
</tool_output id="273e0b0a2266493e7a5e3700">', '01a20800-118e-7432-a6f3-79c48bd4ecc1', 'ok', NULL);
INSERT INTO entries VALUES ('01a20800-118b-711c-bace-e47a6f6b9213', 5, '01a20800-118b-79a4-8957-dc7cc73db261', 1795430551954193, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20800-118b-711c-bace-e47a6f6b9213', 6, '01a20800-118b-79a4-8957-dc7cc73db261', 1795430551954193, 'call', '{}', '01a20800-1192-703a-a38c-a5b79f3c2b44', 'time', NULL);
INSERT INTO entries VALUES ('01a20800-118b-711c-bace-e47a6f6b9213', 7, '01a20800-118b-79a4-8957-dc7cc73db261', 1795430551955235, 'result', '<tool_output name="time" id="273e0b0a2266493e7a5e3700">
Monday, 2026-11-23 10:42:31+00:00 (UTC)
</tool_output id="273e0b0a2266493e7a5e3700">', '01a20800-1192-703a-a38c-a5b79f3c2b44', 'ok', NULL);
INSERT INTO entries VALUES ('01a20800-118b-711c-bace-e47a6f6b9213', 8, '01a20800-118b-79a4-8957-dc7cc73db261', 1795430551957188, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20800-118b-711c-bace-e47a6f6b9213', 9, '01a20800-118b-79a4-8957-dc7cc73db261', 1795430551957188, 'call', '{}', '01a20800-1195-749a-84cc-e37bf56f309a', 'time', NULL);
INSERT INTO entries VALUES ('01a20800-118b-711c-bace-e47a6f6b9213', 10, '01a20800-118b-79a4-8957-dc7cc73db261', 1795430551958254, 'result', '<tool_output name="time" id="273e0b0a2266493e7a5e3700">
Monday, 2026-11-23 10:42:31+00:00 (UTC)
</tool_output id="273e0b0a2266493e7a5e3700">', '01a20800-1195-749a-84cc-e37bf56f309a', 'ok', NULL);
INSERT INTO entries VALUES ('01a20800-119a-737a-9839-02463686bbaa', 1, '01a20800-119a-7783-a6ba-314c7aa89caf', 1795430551962430, 'user', 'please call: write_file {"path": "quorum.txt", "content": "by two\n"}', NULL, NULL, NULL);
INSERT INTO entries VALUES ('01a20800-119a-737a-9839-02463686bbaa', 2, '01a20800-119a-7783-a6ba-314c7aa89caf', 1795430551970463, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20800-119a-737a-9839-02463686bbaa', 3, '01a20800-119a-7783-a6ba-314c7aa89caf', 1795430551970463, 'call', '{"path":"quorum.txt","content":"by two\n"}', '01a20800-11a2-750e-9671-c8e01b506c7f', 'write_file', NULL);
INSERT INTO entries VALUES ('01a20800-11b9-7a86-bc88-a6d72e2f46b5', 1, '01a20800-11b9-7400-ae1f-6c09c94956f2', 1795430551993763, 'user', 'please run: echo running >> running.txt && sleep 600', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20800-11b9-7a86-bc88-a6d72e2f46b5', 2, '01a20800-11b9-7400-ae1f-6c09c94956f2', 1795430551997720, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20800-11b9-7a86-bc88-a6d72e2f46b5', 3, '01a20800-11b9-7400-ae1f-6c09c94956f2', 1795430551997720, 'call', '{"command":"echo running >> running.txt && sleep 600"}', '01a20800-11bd-73ef-a167-ec7a3adb8cf2', 'shell', NULL);
INSERT INTO entries VALUES ('01a20800-1207-738b-b594-736a0093deaf', 1, '01a20800-1207-7ac3-bd6b-57c5c948b06b', 1795430552071986, 'user', 'say: Sent to Dan.', NULL, NULL, NULL);
INSERT INTO entries VALUES ('01a20800-1207-738b-b594-736a0093deaf', 2, '01a20800-1207-7ac3-bd6b-57c5c948b06b', 1795430552075983, 'assistant', 'Sent to Dan.', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20800-1207-7920-b950-ffdd175a3bbb', 1, '01a20800-1207-7e69-b347-2ca0aac9d097', 1795430552071666, 'user', 'hold the turn', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20800-120e-74f5-a7ba-f8179b6f9e6d', 1, '01a20800-120e-7d3d-b6b8-2afd5ec4801c', 1795430552078855, 'user', 'tell the story', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20800-1602-715e-aa7b-ad474d05e51d', 1, '01a20800-1602-7653-9866-e962abe59ef8', 1795430553090245, 'user', 'please call: tool_auth {"name": "shed", "purpose": "to open the shed"}', NULL, NULL, NULL);
INSERT INTO entries VALUES ('01a20800-1602-715e-aa7b-ad474d05e51d', 2, '01a20800-1602-7653-9866-e962abe59ef8', 1795430553094918, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20800-1602-715e-aa7b-ad474d05e51d', 3, '01a20800-1602-7653-9866-e962abe59ef8', 1795430553094918, 'call', '{"name":"shed","purpose":"to open the shed"}', '01a20800-1606-7c1e-a5f3-fe37b8c9cdeb', 'tool_auth', NULL);
INSERT INTO entries VALUES ('01a20800-160d-7231-97ed-6187a464a3ac', 1, '01a20800-160d-72e3-b5ea-7668ce6dbfeb', 1795430553101758, 'user', 'say: Sent to Lea.', NULL, NULL, NULL);
INSERT INTO entries VALUES ('01a20800-160d-7231-97ed-6187a464a3ac', 2, '01a20800-160d-72e3-b5ea-7668ce6dbfeb', 1795430553105965, 'assistant', 'Sent to Lea.', NULL, NULL, '["openai","sim-1",""]');
DELETE FROM inbox;
INSERT INTO inbox VALUES (1, 'tg:123456:m:7:1', 'message', 'telegram', '7', '=7', 'owner', '7', 'Olivia', 1, '00000000000000000001', '/start', NULL, NULL, NULL, 'command: /start', NULL, 1795430548000000, 1795430548099996, 0, NULL, 0);
INSERT INTO inbox VALUES (2, 'tg:123456:m:8:3', 'message', 'telegram', '8', '=8', '01a207ff-e11a-763d-aed5-2d5770d03132', '8', 'Ben', 1, '00000000000000000003', '/start', NULL, NULL, NULL, 'command: /start', NULL, 1795430548000000, 1795430548111319, 1, NULL, 0);
INSERT INTO inbox VALUES (3, 'tg:123456:m:9:5', 'message', 'telegram', '9', '=9', '01a207ff-ed07-71a2-af92-d467a3216806', '9', 'Lea', 1, '00000000000000000005', '/start', NULL, NULL, NULL, 'command: /start', NULL, 1795430548000000, 1795430548124446, 1, NULL, 0);
INSERT INTO inbox VALUES (4, 'tg:123456:m:10:7', 'message', 'telegram', '10', '=10', '01a207ff-e633-78d6-87f9-99c03e554a12', '10', 'Dan', 1, '00000000000000000007', '/start', NULL, NULL, NULL, 'command: /start', NULL, 1795430548000000, 1795430548129035, 1, NULL, 0);
INSERT INTO inbox VALUES (5, 'tg:123456:m:-1000002000001:11', 'message', 'telegram', '-1000002000001:10', '=-1000002000001:10', 'owner', '7', 'Olivia', 0, '00000000000000000011', 'please run: echo granted >> granted.txt', '{"ref":"-1000002000001:11"}', '01a20800-02ab-7e97-9840-47b2f411ce66', '01a20800-02ab-72a3-9b50-bdf105cd5d8f', 'turn 1', NULL, 1795430548000000, 1795430548139610, 0, NULL, 0);
INSERT INTO inbox VALUES (6, 'tg:123456:cb:4382000000000000001', 'choice', 'telegram', '-1000002000001:10', NULL, 'owner', '7', 'Olivia', 0, '', '36zeqkptmt:2', NULL, '01a20800-02ab-7e97-9840-47b2f411ce66', NULL, 'answer: 36zeqkptmt', 'Always approved by owner', 1795430548196288, 1795430548204101, 0, NULL, 0);
INSERT INTO inbox VALUES (7, 'tg:123456:m:-1000002000001:14', 'message', 'telegram', '-1000002000001:5', '=-1000002000001:5', 'owner', '7', 'Olivia', 0, '00000000000000000014', 'please run: echo unknown >> unknown.txt && sleep 600', '{"ref":"-1000002000001:14"}', '01a20800-084a-7d5f-88fe-4339c334291a', '01a20800-084a-71b4-9556-09dcdaaa4ecf', 'turn 1', NULL, 1795430549000000, 1795430549578743, 0, NULL, 0);
INSERT INTO inbox VALUES (8, 'tg:123456:cb:4382000000000000002', 'choice', 'telegram', '-1000002000001:5', NULL, 'owner', '7', 'Olivia', 0, '', 'n3x2bej7cq:0', NULL, '01a20800-084a-7d5f-88fe-4339c334291a', NULL, 'answer: n3x2bej7cq', 'Approved by owner', 1795430549592388, 1795430549593662, 0, NULL, 0);
INSERT INTO inbox VALUES (9, 'tg:123456:m:-1000002000001:17', 'message', 'telegram', '-1000002000001:2', '=-1000002000001:2', 'owner', '7', 'Olivia', 0, '00000000000000000017', 'please run: echo approved >> approved.txt', '{"ref":"-1000002000001:17"}', '01a20800-1124-71e3-9497-6733cbbdc55b', '01a20800-1124-72f6-8c6f-0fa7be93db21', 'turn 1', NULL, 1795430551000000, 1795430551849600, 0, NULL, 0);
INSERT INTO inbox VALUES (10, 'tg:123456:m:-1000002000001:19', 'message', 'telegram', '-1000002000001:3', '=-1000002000001:3', 'owner', '7', 'Olivia', 0, '00000000000000000019', 'please run: echo one >> joint.txt
please run: echo two >> joint.txt', '{"ref":"-1000002000001:19"}', '01a20800-1167-7d6b-b9a9-edf1b123e25e', '01a20800-1167-77e5-9c25-7daf3f5b9cd6', 'turn 1', NULL, 1795430551000000, 1795430551911532, 0, NULL, 0);
INSERT INTO inbox VALUES (11, 'tg:123456:m:-1000002000001:21', 'message', 'telegram', '-1000002000001:4', '=-1000002000001:4', 'owner', '7', 'Olivia', 0, '00000000000000000021', 'please call: ask_user {"question": "Which color?", "choices": ["red", "dark green"]}', '{"ref":"-1000002000001:21"}', '01a20800-1179-70e8-8d2a-a6a17ff4140c', '01a20800-1179-7b12-967d-2369c317fb71', 'turn 1', NULL, 1795430551000000, 1795430551929962, 0, NULL, 0);
INSERT INTO inbox VALUES (12, 'tg:123456:m:-1000002000001:23', 'message', 'telegram', '-1000002000001:6', '=-1000002000001:6', 'owner', '7', 'Olivia', 0, '00000000000000000023', 'count for ever', '{"ref":"-1000002000001:23"}', '01a20800-118b-711c-bace-e47a6f6b9213', '01a20800-118b-79a4-8957-dc7cc73db261', 'turn 1', NULL, 1795430551000000, 1795430551947617, 0, NULL, 0);
INSERT INTO inbox VALUES (13, 'tg:123456:m:8:10', 'message', 'telegram', '8', '=8', '01a207ff-e11a-763d-aed5-2d5770d03132', '8', 'Ben', 1, '00000000000000000010', 'please call: write_file {"path": "quorum.txt", "content": "by two\n"}', NULL, '01a20800-119a-737a-9839-02463686bbaa', '01a20800-119a-7783-a6ba-314c7aa89caf', 'turn 1', NULL, 1795430551000000, 1795430551962492, 1, NULL, 0);
INSERT INTO inbox VALUES (14, 'tg:123456:cb:4382000000000000003', 'choice', 'telegram', '9', NULL, '01a207ff-ed07-71a2-af92-d467a3216806', '9', 'Lea', 1, '', '23yxyh98dj:0', NULL, '01a20800-119a-737a-9839-02463686bbaa', NULL, 'answer: 23yxyh98dj', 'Counted. 1 more needed.', 1795430551986900, 1795430551988358, 0, NULL, 0);
INSERT INTO inbox VALUES (15, 'tg:123456:m:8:14', 'message', 'telegram', '8', '=8', '01a207ff-e11a-763d-aed5-2d5770d03132', '8', 'Ben', 1, '00000000000000000014', 'and water the garden', NULL, '01a20800-119a-737a-9839-02463686bbaa', NULL, 'waiting', NULL, 1795430551000000, 1795430551993332, 1, NULL, 0);
INSERT INTO inbox VALUES (16, 'tg:123456:m:-1000002000001:25', 'message', 'telegram', '-1000002000001:7', '=-1000002000001:7', 'owner', '7', 'Olivia', 0, '00000000000000000025', 'please run: echo running >> running.txt && sleep 600', '{"ref":"-1000002000001:25"}', '01a20800-11b9-7a86-bc88-a6d72e2f46b5', '01a20800-11b9-7400-ae1f-6c09c94956f2', 'turn 1', NULL, 1795430551000000, 1795430551993814, 0, NULL, 0);
INSERT INTO inbox VALUES (17, 'tg:123456:cb:4382000000000000004', 'choice', 'telegram', '-1000002000001:7', NULL, 'owner', '7', 'Olivia', 0, '', '03p3fngj7a:0', NULL, '01a20800-11b9-7a86-bc88-a6d72e2f46b5', NULL, 'answer: 03p3fngj7a', 'Approved by owner', 1795430552005765, 1795430552007168, 0, NULL, 0);
INSERT INTO inbox VALUES (18, 'tg:123456:m:-1000002000001:27', 'message', 'telegram', '-1000002000001:8', '=-1000002000001:8', 'owner', '7', 'Olivia', 0, '00000000000000000027', 'hold the turn', '{"ref":"-1000002000001:27"}', '01a20800-1207-7920-b950-ffdd175a3bbb', '01a20800-1207-7e69-b347-2ca0aac9d097', 'turn 1', NULL, 1795430552000000, 1795430552071736, 0, NULL, 0);
INSERT INTO inbox VALUES (19, 'tg:123456:m:10:16', 'message', 'telegram', '10', '=10', '01a207ff-e633-78d6-87f9-99c03e554a12', '10', 'Dan', 1, '00000000000000000016', 'say: Sent to Dan.', NULL, '01a20800-1207-738b-b594-736a0093deaf', '01a20800-1207-7ac3-bd6b-57c5c948b06b', 'turn 1', NULL, 1795430552000000, 1795430552072019, 1, NULL, 0);
INSERT INTO inbox VALUES (20, 'tg:123456:m:-1000002000001:28', 'message', 'telegram', '-1000002000001:9', '=-1000002000001:9', 'owner', '7', 'Olivia', 0, '00000000000000000028', 'tell the story', '{"ref":"-1000002000001:28"}', '01a20800-120e-74f5-a7ba-f8179b6f9e6d', '01a20800-120e-7d3d-b6b8-2afd5ec4801c', 'turn 1', NULL, 1795430552000000, 1795430552078893, 0, NULL, 0);
INSERT INTO inbox VALUES (21, 'tg:123456:m:7:18', 'message', 'telegram', '7', '=7', 'owner', '7', 'Olivia', 1, '00000000000000000018', 'please call: tool_auth {"name": "shed", "purpose": "to open the shed"}', NULL, '01a20800-1602-715e-aa7b-ad474d05e51d', '01a20800-1602-7653-9866-e962abe59ef8', 'turn 1', NULL, 1795430553000000, 1795430553090305, 0, NULL, 0);
INSERT INTO inbox VALUES (22, 'tg:123456:m:9:20', 'message', 'telegram', '9', '=9', '01a207ff-ed07-71a2-af92-d467a3216806', '9', 'Lea', 1, '00000000000000000020', 'say: Sent to Lea.', NULL, '01a20800-160d-7231-97ed-6187a464a3ac', '01a20800-160d-72e3-b5ea-7668ce6dbfeb', 'turn 1', NULL, 1795430553000000, 1795430553101822, 1, NULL, 0);
DELETE FROM calls;
INSERT INTO calls VALUES ('01a20800-02b2-771c-9ab3-337ab9e99030', '01a20800-02ab-7e97-9840-47b2f411ce66', 3, '01a20800-02ab-72a3-9b50-bdf105cd5d8f', 'shell', 'effect', 'ended', 'ok', '21c375f3f8010c799d303500171562117cc31751a87cba13c2f8ba1b5397ad3a', '36zeqkptmt', 'always', 'owner', 31003, 31003, 2935541, NULL, NULL, 1, 1795430548212126, 1795430548376805);
INSERT INTO calls VALUES ('01a20800-084e-7f36-912c-ab745427e9e3', '01a20800-084a-7d5f-88fe-4339c334291a', 3, '01a20800-084a-71b4-9556-09dcdaaa4ecf', 'shell', 'effect', 'unknown', NULL, 'a7d74c5ddab77811bb78205b4eb86943f5d8f899924ceda804246ad77097e686', '5fny9e9k2f', NULL, NULL, 31111, 31111, 2935676, NULL, NULL, 1, 1795430549600300, NULL);
INSERT INTO calls VALUES ('01a20800-1135-720a-a88a-a87ab0d785d5', '01a20800-1124-71e3-9497-6733cbbdc55b', 3, '01a20800-1124-72f6-8c6f-0fa7be93db21', 'shell', 'effect', 'waiting', NULL, '5cde9eedc7d77406b0c50b28acd5ae150aef64b155f130d6ac0d052c45fd0d4d', '04ded7erdv', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO calls VALUES ('01a20800-116c-7dbf-a155-3c80e2f9839c', '01a20800-1167-7d6b-b9a9-edf1b123e25e', 3, '01a20800-1167-77e5-9c25-7daf3f5b9cd6', 'shell', 'effect', 'waiting', NULL, '24e0e846390391ae9d41909f805a0c693d3dccb608a2a8549c5fd90b0322019f', '68nmn05rya', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO calls VALUES ('01a20800-116c-7f89-b077-222be9bdf509', '01a20800-1167-7d6b-b9a9-edf1b123e25e', 4, '01a20800-1167-77e5-9c25-7daf3f5b9cd6', 'shell', 'effect', 'waiting', NULL, 'a246ce681c5ff7a5837f53deb62aebb7ce167e72b3ae2b64bd701e1e99646086', '68nmn05rya', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO calls VALUES ('01a20800-1181-741d-94e9-88de84f47f7c', '01a20800-1179-70e8-8d2a-a6a17ff4140c', 3, '01a20800-1179-7b12-967d-2369c317fb71', 'ask_user', 'none', 'waiting', NULL, '', 'svb4z7dcj7', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO calls VALUES ('01a20800-118e-7432-a6f3-79c48bd4ecc1', '01a20800-118b-711c-bace-e47a6f6b9213', 3, '01a20800-118b-79a4-8957-dc7cc73db261', 'time', 'none', 'ended', 'ok', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 1795430551951446, 1795430551951830);
INSERT INTO calls VALUES ('01a20800-1192-703a-a38c-a5b79f3c2b44', '01a20800-118b-711c-bace-e47a6f6b9213', 6, '01a20800-118b-79a4-8957-dc7cc73db261', 'time', 'none', 'ended', 'ok', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2, 1795430551954848, 1795430551955103);
INSERT INTO calls VALUES ('01a20800-1195-749a-84cc-e37bf56f309a', '01a20800-118b-711c-bace-e47a6f6b9213', 9, '01a20800-118b-79a4-8957-dc7cc73db261', 'time', 'none', 'ended', 'ok', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 3, 1795430551957798, 1795430551958099);
INSERT INTO calls VALUES ('01a20800-11a2-750e-9671-c8e01b506c7f', '01a20800-119a-737a-9839-02463686bbaa', 3, '01a20800-119a-7783-a6ba-314c7aa89caf', 'write_file', 'effect', 'waiting', NULL, '3b2f7dced59b23ce06e025a1b9c0d98e8e73d218212ed62db91fe438b6ab28f0.73f2201d59f74037eaefb2334323c2f5477564d0487930ef4bc3ce88d77bd7c3', '23yxyh98dj', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO calls VALUES ('01a20800-11bd-73ef-a167-ec7a3adb8cf2', '01a20800-11b9-7a86-bc88-a6d72e2f46b5', 3, '01a20800-11b9-7400-ae1f-6c09c94956f2', 'shell', 'effect', 'running', NULL, '5a3bdfe44180580ba8a6f88dd8316a397dcfb7eb94b2d10b5903fd3ffbfd3061', '03p3fngj7a', 'approve', 'owner', 31322, 31322, 2935919, NULL, NULL, 1, 1795430552017434, NULL);
INSERT INTO calls VALUES ('01a20800-1606-7c1e-a5f3-fe37b8c9cdeb', '01a20800-1602-715e-aa7b-ad474d05e51d', 3, '01a20800-1602-7653-9866-e962abe59ef8', 'tool_auth', 'none', 'waiting', NULL, '', 'e51e15wwdt', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
DELETE FROM prompts;
INSERT INTO prompts VALUES ('03p3fngj7a', 'approval', 'closed', '01a20800-11b9-7a86-bc88-a6d72e2f46b5', '01a20800-11b9-7400-ae1f-6c09c94956f2', '01a20800-11bd-73ef-a167-ec7a3adb8cf2', 'owner', 'May I run shell?
shell was not granted yet.', 'command: echo running >> running.txt && sleep 600
timeout_s: 30', 'approve deny always', '[]', 1, 0, '5a3bdfe44180580ba8a6f88dd8316a397dcfb7eb94b2d10b5903fd3ffbfd3061', 'shell', '>> running.txt echo running
@sleep', 1795430551999761, 1795516951999761, 'approve', 'Approved by owner', 'owner', 1795430552006594, NULL, 0, 1795513351999761, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO prompts VALUES ('04ded7erdv', 'approval', 'open', '01a20800-1124-71e3-9497-6733cbbdc55b', '01a20800-1124-72f6-8c6f-0fa7be93db21', '01a20800-1135-720a-a88a-a87ab0d785d5', 'owner', 'May I run shell?
shell was not granted yet.', 'command: echo approved >> approved.txt
timeout_s: 30', 'approve deny always', '[]', 1, 0, '5cde9eedc7d77406b0c50b28acd5ae150aef64b155f130d6ac0d052c45fd0d4d', 'shell', '>> approved.txt echo approved', 1795430551902333, 1795516951902333, NULL, NULL, NULL, NULL, NULL, 0, 1795513351902333, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO prompts VALUES ('23yxyh98dj', 'approval', 'open', '01a20800-119a-737a-9839-02463686bbaa', '01a20800-119a-7783-a6ba-314c7aa89caf', '01a20800-11a2-750e-9671-c8e01b506c7f', '01a207ff-e11a-763d-aed5-2d5770d03132', 'May I run write_file?
write_file was not granted yet.', 'path: quorum.txt
content: by two
    ', 'approve deny', '["owner","01a207ff-ed07-71a2-af92-d467a3216806"]', 2, 0, '3b2f7dced59b23ce06e025a1b9c0d98e8e73d218212ed62db91fe438b6ab28f0.73f2201d59f74037eaefb2334323c2f5477564d0487930ef4bc3ce88d77bd7c3', 'write_file', 'quorum.txt', 1795430551972125, 1795516951972125, NULL, NULL, NULL, NULL, NULL, 0, 1795513351972125, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO prompts VALUES ('36zeqkptmt', 'approval', 'closed', '01a20800-02ab-7e97-9840-47b2f411ce66', '01a20800-02ab-72a3-9b50-bdf105cd5d8f', '01a20800-02b2-771c-9ab3-337ab9e99030', 'owner', 'May I run shell?
shell was not granted yet.', 'command: echo granted >> granted.txt
timeout_s: 30', 'approve deny always', '[]', 1, 0, '21c375f3f8010c799d303500171562117cc31751a87cba13c2f8ba1b5397ad3a', 'shell', '>> granted.txt echo granted', 1795430548188749, 1795516948188749, 'always', 'Always approved by owner', 'owner', 1795430548198023, NULL, 0, 1795513348188749, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO prompts VALUES ('5fny9e9k2f', 'unknown_outcome', 'open', '01a20800-084a-7d5f-88fe-4339c334291a', '01a20800-084a-71b4-9556-09dcdaaa4ecf', '01a20800-084e-7f36-912c-ab745427e9e3', 'owner', 'I was interrupted while running shell and don''t know whether it took effect.', 'command: echo unknown >> unknown.txt && sleep 600
timeout_s: 30', 'happened retry skip', '[]', 1, 0, 'a7d74c5ddab77811bb78205b4eb86943f5d8f899924ceda804246ad77097e686', 'shell', NULL, 1795430551713317, 1798022551713317, NULL, NULL, NULL, NULL, NULL, 0, 1798018951713317, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO prompts VALUES ('68nmn05rya', 'approval', 'open', '01a20800-1167-7d6b-b9a9-edf1b123e25e', '01a20800-1167-77e5-9c25-7daf3f5b9cd6', NULL, 'owner', 'May I run these 2 calls?', '', 'approve deny one_by_one', '[]', 1, 0, 'e6cbd9d1e72b8326bd6c68841ad21dfc8d4211085285687342e9318cf095a314', NULL, NULL, 1795430551919697, 1795516951919697, NULL, NULL, NULL, NULL, NULL, 0, 1795513351919697, '[]', NULL, 0, '[["01a20800-116c-7dbf-a155-3c80e2f9839c", "shell", "shell was not granted yet.", "command: echo one >> joint.txt\ntimeout_s: 30", "24e0e846390391ae9d41909f805a0c693d3dccb608a2a8549c5fd90b0322019f"], ["01a20800-116c-7f89-b077-222be9bdf509", "shell", "shell was not granted yet.", "command: echo two >> joint.txt\ntimeout_s: 30", "a246ce681c5ff7a5837f53deb62aebb7ce167e72b3ae2b64bd701e1e99646086"]]', NULL, 0, NULL, 0);
INSERT INTO prompts VALUES ('e51e15wwdt', 'question', 'open', '01a20800-1602-715e-aa7b-ad474d05e51d', '01a20800-1602-7653-9866-e962abe59ef8', '01a20800-1606-7c1e-a5f3-fe37b8c9cdeb', 'owner', 'Please send me the credential “shed”: to open the shed', '', '', '["owner"]', 1, 0, '', 'tool_auth', NULL, 1795430553096118, 1795516953096118, NULL, NULL, NULL, NULL, '["Cancel"]', 1, 1795513353096118, '[]', NULL, 0, NULL, 'shed', 0, NULL, 1);
INSERT INTO prompts VALUES ('n3x2bej7cq', 'approval', 'closed', '01a20800-084a-7d5f-88fe-4339c334291a', '01a20800-084a-71b4-9556-09dcdaaa4ecf', '01a20800-084e-7f36-912c-ab745427e9e3', 'owner', 'May I run shell?
shell was not granted yet.', 'command: echo unknown >> unknown.txt && sleep 600
timeout_s: 30', 'approve deny always', '[]', 1, 0, 'a7d74c5ddab77811bb78205b4eb86943f5d8f899924ceda804246ad77097e686', 'shell', '>> unknown.txt echo unknown
@sleep', 1795430549588043, 1795516949588043, 'approve', 'Approved by owner', 'owner', 1795430549593388, NULL, 0, 1795513349588043, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO prompts VALUES ('npcc1kw0e0', 'continue', 'open', '01a20800-118b-711c-bace-e47a6f6b9213', '01a20800-118b-79a4-8957-dc7cc73db261', NULL, 'owner', 'I have used 3 rounds of tools on this. Shall I go on?', '', 'continue stop', '[]', 1, 0, '', NULL, NULL, 1795430551958722, 1795516951958722, NULL, NULL, NULL, NULL, NULL, 0, 1795513351958722, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO prompts VALUES ('svb4z7dcj7', 'question', 'open', '01a20800-1179-70e8-8d2a-a6a17ff4140c', '01a20800-1179-7b12-967d-2369c317fb71', '01a20800-1181-741d-94e9-88de84f47f7c', 'owner', 'Which color?', '', '', '["owner"]', 1, 0, '', 'ask_user', NULL, 1795430551943529, 1795516951943529, NULL, NULL, NULL, NULL, '["red","dark green"]', 0, 1795513351943529, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
DELETE FROM votes;
INSERT INTO votes VALUES ('03p3fngj7a', 'owner', 'owner', 'approve', 1795430552006452);
INSERT INTO votes VALUES ('23yxyh98dj', '01a207ff-ed07-71a2-af92-d467a3216806', 'Lea', 'approve', 1795430551988097);
INSERT INTO votes VALUES ('36zeqkptmt', 'owner', 'owner', 'always', 1795430548197801);
INSERT INTO votes VALUES ('n3x2bej7cq', 'owner', 'owner', 'approve', 1795430549593277);
DELETE FROM grants;
INSERT INTO grants VALUES ('01a20800-02e5-7040-93bc-a6eaeaef56cf', 'owner', 'shell', '>> granted.txt echo granted', 'user', NULL, 'owner', 1795430548196421, NULL);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES ('outbox', 25);
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
INSERT INTO outbox VALUES (1, 'telegram', '7', '{"blocks":[["plain","Hello. Write to me and I will answer; when something I want to do needs your consent, I show buttons first. /help lists the commands."]]}', 'sent', 1, '01a20800-0283-7787-868b-fbf8749e3db9', '["7:2"]', '00000000000000000002', NULL, NULL, NULL, NULL, 1, 0, 1, 0, NULL, 1795430548100120, 1795430548110934, 1795430548100120, NULL, 1, NULL);
INSERT INTO outbox VALUES (2, 'telegram', '8', '{"blocks":[["plain","Hello. Write to me and I will answer; when something I want to do needs your consent, I show buttons first. /help lists the commands."]]}', 'sent', 1, '01a20800-028f-708c-a74a-943aa80b58ac', '["8:4"]', '00000000000000000004', NULL, NULL, NULL, NULL, 2, 0, 1, 0, NULL, 1795430548111361, 1795430548124127, 1795430548111361, NULL, 2, NULL);
INSERT INTO outbox VALUES (3, 'telegram', '9', '{"blocks":[["plain","Hello. Write to me and I will answer; when something I want to do needs your consent, I show buttons first. /help lists the commands."]]}', 'sent', 1, '01a20800-029c-71a8-a500-bcba31415d1d', '["9:6"]', '00000000000000000006', NULL, NULL, NULL, NULL, 3, 0, 1, 0, NULL, 1795430548124487, 1795430548128726, 1795430548124487, NULL, 3, NULL);
INSERT INTO outbox VALUES (4, 'telegram', '10', '{"blocks":[["plain","Hello. Write to me and I will answer; when something I want to do needs your consent, I show buttons first. /help lists the commands."]]}', 'sent', 1, '01a20800-02a1-7359-9da1-21203923fefc', '["10:8"]', '00000000000000000008', NULL, NULL, NULL, NULL, 4, 0, 1, 0, NULL, 1795430548129077, 1795430548138794, 1795430548129077, NULL, 4, NULL);
INSERT INTO outbox VALUES (5, 'telegram', '-1000002000001:10', '{"blocks":[["plain","May I run shell?\nshell was not granted yet."],["code","command: echo granted >> granted.txt\ntimeout_s: 30",""],["plain","Always would grant shell: >> granted.txt echo granted\nor type /approve 36zeqkptmt or /deny 36zeqkptmt"]],"choices":["Approve","Deny","Always"],"gate_id":"36zeqkptmt","reply_to":"-1000002000001:11","editable":true}', 'sent', 1, '01a20800-02dc-72ae-ab12-9cccd5c20d0d', '["-1000002000001:12"]', '00000000000000000012', NULL, NULL, '36zeqkptmt', '01a20800-02ab-72a3-9b50-bdf105cd5d8f', NULL, 0, 1, 0, NULL, 1795430548191257, 1795430548196699, 1795430548192400, NULL, 5, NULL);
INSERT INTO outbox VALUES (6, 'telegram', '-1000002000001:10', '{"blocks":[["plain","May I run shell?\nshell was not granted yet."],["code","command: echo granted >> granted.txt\ntimeout_s: 30",""]],"gate_id":"36zeqkptmt","outcome":"Always approved by owner"}', 'sent', 1, '01a20800-02e6-7f56-9351-feae3297e618', '[]', NULL, 5, NULL, '36zeqkptmt', NULL, NULL, 0, 1, 0, NULL, 1795430548198391, 1795430549559345, 1795430548208955, NULL, 6, NULL);
INSERT INTO outbox VALUES (7, 'telegram', '-1000002000001:10', '{"blocks":[["markdown","Done: <tool_output name=\"shell\" id=\"5abdeba3666825f380a94d2a\">\nexit code: 0\n\n</tool_output id=\"5abdeba3666825f380a94d2a\">"]],"reply_to":"-1000002000001:11"}', 'sent', 1, '01a20800-083b-732e-bea7-7d96d44612ef', '["-1000002000001:13"]', '00000000000000000013', NULL, NULL, NULL, '01a20800-02ab-72a3-9b50-bdf105cd5d8f', NULL, 0, 1, 0, NULL, 1795430549565240, 1795430549573478, 1795430549569794, NULL, 6, NULL);
INSERT INTO outbox VALUES (8, 'telegram', '7', '{"blocks":[["plain","🔔 Routine “watch” has something for you"],["markdown","The tap drips.\n\n# What fired the routine\nA person asked for this run."]],"choices":["Details","Pause","Run again"],"gate_id":"xszc5zdfb5"}', 'sent', 1, '01a20800-0845-790f-b773-7789d1a5de7e', '["7:9"]', '00000000000000000009', NULL, NULL, NULL, NULL, NULL, 0, 1, 0, NULL, 1795430549573587, 1795430549578254, 1795430549574397, NULL, 6, NULL);
INSERT INTO outbox VALUES (9, 'telegram', '-1000002000001:5', '{"blocks":[["plain","May I run shell?\nshell was not granted yet."],["code","command: echo unknown >> unknown.txt && sleep 600\ntimeout_s: 30",""],["plain","Always would grant shell: >> unknown.txt echo unknown; sleep with its harmless options\nor type /approve n3x2bej7cq or /deny n3x2bej7cq"]],"choices":["Approve","Deny","Always"],"gate_id":"n3x2bej7cq","reply_to":"-1000002000001:14","editable":true}', 'sent', 1, '01a20800-0854-7f0c-af09-094d773868ea', '["-1000002000001:15"]', '00000000000000000015', NULL, NULL, 'n3x2bej7cq', '01a20800-084a-71b4-9556-09dcdaaa4ecf', NULL, 0, 1, 0, NULL, 1795430549588674, 1795430549592739, 1795430549589537, NULL, 7, NULL);
INSERT INTO outbox VALUES (10, 'telegram', '-1000002000001:5', '{"blocks":[["plain","May I run shell?\nshell was not granted yet."],["code","command: echo unknown >> unknown.txt && sleep 600\ntimeout_s: 30",""]],"gate_id":"n3x2bej7cq","outcome":"Approved by owner"}', 'sent', 1, '01a20800-0859-7fbc-b2c7-b14c4fe768b5', '[]', NULL, 9, NULL, 'n3x2bej7cq', NULL, NULL, 0, 1, 0, NULL, 1795430549593537, 1795430549604877, 1795430549596266, NULL, 8, NULL);
INSERT INTO outbox VALUES (11, 'telegram', '-1000002000001:5', '{"blocks":[["plain","I was interrupted while running shell and don''t know whether it took effect."],["code","command: echo unknown >> unknown.txt && sleep 600\ntimeout_s: 30",""]],"choices":["It happened","Run it again","Leave it"],"gate_id":"5fny9e9k2f","reply_to":"-1000002000001:14"}', 'sent', 1, '01a20800-10a1-7324-b168-2cfd055a9e0d', '["-1000002000001:16"]', '00000000000000000016', NULL, NULL, '5fny9e9k2f', '01a20800-084a-71b4-9556-09dcdaaa4ecf', NULL, 0, 1, 0, NULL, 1795430551714586, 1795430551842397, 1795430551831476, NULL, 8, NULL);
INSERT INTO outbox VALUES (12, 'telegram', '-1000002000001:2', '{"blocks":[["plain","May I run shell?\nshell was not granted yet."],["code","command: echo approved >> approved.txt\ntimeout_s: 30",""],["plain","Always would grant shell: >> approved.txt echo approved\nor type /approve 04ded7erdv or /deny 04ded7erdv"]],"choices":["Approve","Deny","Always"],"gate_id":"04ded7erdv","reply_to":"-1000002000001:17","editable":true}', 'sent', 1, '01a20800-115e-7842-98c2-f1ea8fa14c1a', '["-1000002000001:18"]', '00000000000000000018', NULL, NULL, '04ded7erdv', '01a20800-1124-72f6-8c6f-0fa7be93db21', NULL, 0, 1, 0, NULL, 1795430551903388, 1795430551911065, 1795430551907984, NULL, 9, NULL);
INSERT INTO outbox VALUES (13, 'telegram', '-1000002000001:3', '{"blocks":[["plain","May I run these 2 calls?"],["plain","1. shell: shell was not granted yet."],["code","command: echo one >> joint.txt\ntimeout_s: 30",""],["plain","2. shell: shell was not granted yet."],["code","command: echo two >> joint.txt\ntimeout_s: 30",""],["plain","or type /approve 68nmn05rya or /deny 68nmn05rya"]],"choices":["Approve all","Deny all","One by one"],"gate_id":"68nmn05rya","reply_to":"-1000002000001:19"}', 'sent', 1, '01a20800-116f-73d8-bf7d-fa6065bbb25e', '["-1000002000001:20"]', '00000000000000000020', NULL, NULL, '68nmn05rya', '01a20800-1167-77e5-9c25-7daf3f5b9cd6', NULL, 0, 1, 0, NULL, 1795430551920217, 1795430551929567, 1795430551921146, NULL, 10, NULL);
INSERT INTO outbox VALUES (14, 'telegram', '-1000002000001:4', '{"blocks":[["plain","Which color?"]],"choices":["red","dark green"],"gate_id":"svb4z7dcj7","reply_to":"-1000002000001:21"}', 'sent', 1, '01a20800-1187-7132-a4d0-842179ca446e', '["-1000002000001:22"]', '00000000000000000022', NULL, NULL, 'svb4z7dcj7', '01a20800-1179-7b12-967d-2369c317fb71', NULL, 0, 1, 0, NULL, 1795430551944076, 1795430551947243, 1795430551944865, NULL, 11, NULL);
INSERT INTO outbox VALUES (15, 'telegram', '-1000002000001:6', '{"blocks":[["plain","I have used 3 rounds of tools on this. Shall I go on?"]],"choices":["Go on","Stop here"],"gate_id":"npcc1kw0e0","reply_to":"-1000002000001:23"}', 'sent', 1, '01a20800-1196-7e99-bd33-e27740c21c71', '["-1000002000001:24"]', '00000000000000000024', NULL, NULL, 'npcc1kw0e0', '01a20800-118b-79a4-8957-dc7cc73db261', NULL, 0, 1, 0, NULL, 1795430551959099, 1795430551961901, 1795430551959818, NULL, 12, NULL);
INSERT INTO outbox VALUES (16, 'telegram', '8', '{"blocks":[["plain","May I run write_file?\nwrite_file was not granted yet."],["code","path: quorum.txt\ncontent: by two\n    ",""],["plain","2 people have to agree.\nor type /approve 23yxyh98dj or /deny 23yxyh98dj"]],"choices":["Approve","Deny"],"gate_id":"23yxyh98dj","editable":true}', 'sent', 1, '01a20800-11a9-7443-b5e0-de6307eec27d', '["8:11"]', '00000000000000000011', NULL, NULL, '23yxyh98dj', '01a20800-119a-7783-a6ba-314c7aa89caf', NULL, 0, 1, 0, NULL, 1795430551978034, 1795430551987264, 1795430551979814, NULL, 13, NULL);
INSERT INTO outbox VALUES (17, 'telegram', '7', '{"blocks":[["plain","May I run write_file?\nwrite_file was not granted yet."],["code","path: quorum.txt\ncontent: by two\n    ",""],["plain","2 people have to agree.\nor type /approve 23yxyh98dj or /deny 23yxyh98dj"]],"choices":["Approve","Deny"],"gate_id":"23yxyh98dj","editable":true}', 'sent', 1, '01a20800-11a9-7026-a20d-897116aba76e', '["7:12"]', '00000000000000000012', NULL, NULL, '23yxyh98dj', '01a20800-119a-7783-a6ba-314c7aa89caf', NULL, 0, 1, 0, NULL, 1795430551978034, 1795430551987358, 1795430551979923, NULL, 13, NULL);
INSERT INTO outbox VALUES (18, 'telegram', '9', '{"blocks":[["plain","May I run write_file?\nwrite_file was not granted yet."],["code","path: quorum.txt\ncontent: by two\n    ",""],["plain","2 people have to agree.\nor type /approve 23yxyh98dj or /deny 23yxyh98dj"]],"choices":["Approve","Deny"],"gate_id":"23yxyh98dj","editable":true}', 'sent', 1, '01a20800-11a9-708d-8dbb-567dd893a99c', '["9:13"]', '00000000000000000013', NULL, NULL, '23yxyh98dj', '01a20800-119a-7783-a6ba-314c7aa89caf', NULL, 0, 1, 0, NULL, 1795430551978034, 1795430551987403, 1795430551979964, NULL, 13, NULL);
INSERT INTO outbox VALUES (19, 'telegram', '8', '{"blocks":[["plain","Your message is queued: I am waiting for a decision on: May I run write_file?\nwrite_file was not granted yet.\nAnswer with its buttons, or /approve 23yxyh98dj or /deny 23yxyh98dj; /stop gives up."]]}', 'sent', 1, '01a20800-11b9-734e-90f2-bf2ba33822a4', '["8:15"]', '00000000000000000015', NULL, NULL, NULL, NULL, 15, 0, 1, 0, NULL, 1795430551993381, 1795430551997861, 1795430551993381, NULL, 15, NULL);
INSERT INTO outbox VALUES (20, 'telegram', '-1000002000001:7', '{"blocks":[["plain","May I run shell?\nshell was not granted yet."],["code","command: echo running >> running.txt && sleep 600\ntimeout_s: 30",""],["plain","Always would grant shell: >> running.txt echo running; sleep with its harmless options\nor type /approve 03p3fngj7a or /deny 03p3fngj7a"]],"choices":["Approve","Deny","Always"],"gate_id":"03p3fngj7a","reply_to":"-1000002000001:25","editable":true}', 'sent', 1, '01a20800-11bf-72a5-8f05-9976ca00938c', '["-1000002000001:26"]', '00000000000000000026', NULL, NULL, '03p3fngj7a', '01a20800-11b9-7400-ae1f-6c09c94956f2', NULL, 0, 1, 0, NULL, 1795430552000328, 1795430552006067, 1795430552002401, NULL, 16, NULL);
INSERT INTO outbox VALUES (21, 'telegram', '-1000002000001:7', '{"blocks":[["plain","May I run shell?\nshell was not granted yet."],["code","command: echo running >> running.txt && sleep 600\ntimeout_s: 30",""]],"gate_id":"03p3fngj7a","outcome":"Approved by owner"}', 'sent', 1, '01a20800-11c6-7d5d-9b5c-b672b287cd14', '[]', NULL, 20, NULL, '03p3fngj7a', NULL, NULL, 0, 1, 0, NULL, 1795430552006871, 1795430552017594, 1795430552008843, NULL, 17, NULL);
INSERT INTO outbox VALUES (22, 'telegram', '10', '{"blocks":[["markdown","Sent to Dan."]]}', 'sending', 0, '01a20800-120b-7786-8102-99a4323d2b58', '[]', NULL, NULL, NULL, NULL, '01a20800-1207-7ac3-bd6b-57c5c948b06b', NULL, 0, 1, 0, NULL, 1795430552076121, NULL, 1795430552076121, NULL, 19, NULL);
INSERT INTO outbox VALUES (23, 'telegram', '-1000002000001:9', '{"blocks":[],"reply_to":"-1000002000001:28"}', 'streaming', 0, '01a20800-15f7-767a-8ad2-cf9fc8ad8cc2', '["-1000002000001:29"]', '00000000000000000029', NULL, NULL, NULL, '01a20800-120e-7d3d-b6b8-2afd5ec4801c', NULL, 0, 1, 0, NULL, 1795430553079794, 1795430553084385, 1795430553079794, NULL, 20, NULL);
INSERT INTO outbox VALUES (24, 'telegram', '7', '{"blocks":[["plain","Please send me the credential “shed”: to open the shed"],["plain","Your next message is taken for it, within five minutes: it goes into the vault, and neither the model nor a log sees it."]],"choices":["Cancel"],"gate_id":"e51e15wwdt"}', 'sent', 1, '01a20800-1608-792d-8995-ead08387c63d', '["7:19"]', '00000000000000000019', NULL, NULL, 'e51e15wwdt', '01a20800-1602-7653-9866-e962abe59ef8', NULL, 0, 1, 0, NULL, 1795430553096642, 1795430553101395, 1795430553097472, NULL, 21, NULL);
INSERT INTO outbox VALUES (25, 'telegram', '9', '{"blocks":[["markdown","Sent to Lea."]]}', 'ambiguous', 0, '01a20800-1611-799a-82e3-4368cd056bb9', '[]', NULL, NULL, NULL, NULL, '01a20800-160d-72e3-b5ea-7668ce6dbfeb', NULL, 0, 1, 0, 'no answer from Telegram (ServerDisconnectedError)', 1795430553106070, NULL, 1795430553106070, 1795430553107965, 22, NULL);
DELETE FROM tool_settings;
DELETE FROM secrets;
INSERT INTO secrets VALUES ('garden', 'e92cf7d8cd826649', X'956EE7BF43003647AE6002F2FC5F9FF6ABEAA8E7754CA9C9BAE083E3ACC84F80633E395D742037D999506EE751AA06D848', 1795430544304742);
DELETE FROM feed;
INSERT INTO feed VALUES ('01a20800-02ab-7e97-9840-47b2f411ce66', 4, 1795430548190842, 'card', '01a20800-02ab-72a3-9b50-bdf105cd5d8f', NULL, NULL, '36zeqkptmt');
INSERT INTO feed VALUES ('01a20800-02ab-7e97-9840-47b2f411ce66', 5, 1795430548198156, 'outcome', '01a20800-02ab-72a3-9b50-bdf105cd5d8f', NULL, NULL, '36zeqkptmt');
INSERT INTO feed VALUES ('01a20800-084a-7d5f-88fe-4339c334291a', 4, 1795430549588471, 'card', '01a20800-084a-71b4-9556-09dcdaaa4ecf', NULL, NULL, 'n3x2bej7cq');
INSERT INTO feed VALUES ('01a20800-084a-7d5f-88fe-4339c334291a', 5, 1795430549593432, 'outcome', '01a20800-084a-71b4-9556-09dcdaaa4ecf', NULL, NULL, 'n3x2bej7cq');
INSERT INTO feed VALUES ('01a20800-084a-7d5f-88fe-4339c334291a', 6, 1795430551713915, 'card', '01a20800-084a-71b4-9556-09dcdaaa4ecf', NULL, NULL, '5fny9e9k2f');
INSERT INTO feed VALUES ('01a20800-1124-71e3-9497-6733cbbdc55b', 4, 1795430551903090, 'card', '01a20800-1124-72f6-8c6f-0fa7be93db21', NULL, NULL, '04ded7erdv');
INSERT INTO feed VALUES ('01a20800-1167-7d6b-b9a9-edf1b123e25e', 5, 1795430551920031, 'card', '01a20800-1167-77e5-9c25-7daf3f5b9cd6', NULL, NULL, '68nmn05rya');
INSERT INTO feed VALUES ('01a20800-1179-70e8-8d2a-a6a17ff4140c', 4, 1795430551943892, 'card', '01a20800-1179-7b12-967d-2369c317fb71', NULL, NULL, 'svb4z7dcj7');
INSERT INTO feed VALUES ('01a20800-118b-711c-bace-e47a6f6b9213', 11, 1795430551958988, 'card', '01a20800-118b-79a4-8957-dc7cc73db261', NULL, NULL, 'npcc1kw0e0');
INSERT INTO feed VALUES ('01a20800-119a-737a-9839-02463686bbaa', 4, 1795430551977838, 'card', '01a20800-119a-7783-a6ba-314c7aa89caf', NULL, NULL, '23yxyh98dj');
INSERT INTO feed VALUES ('01a20800-119a-737a-9839-02463686bbaa', 5, 1795430551993555, 'message', NULL, NULL, 19, NULL);
INSERT INTO feed VALUES ('01a20800-11b9-7a86-bc88-a6d72e2f46b5', 4, 1795430552000135, 'card', '01a20800-11b9-7400-ae1f-6c09c94956f2', NULL, NULL, '03p3fngj7a');
INSERT INTO feed VALUES ('01a20800-11b9-7a86-bc88-a6d72e2f46b5', 5, 1795430552006712, 'outcome', '01a20800-11b9-7400-ae1f-6c09c94956f2', NULL, NULL, '03p3fngj7a');
INSERT INTO feed VALUES ('01a20800-1602-715e-aa7b-ad474d05e51d', 4, 1795430553096451, 'card', '01a20800-1602-7653-9866-e962abe59ef8', NULL, NULL, 'e51e15wwdt');
DELETE FROM api_keys;
DELETE FROM routines;
INSERT INTO routines VALUES ('01a207ff-f7fc-7071-b5da-450e36193130', 'owner', 'watch', 'manual', '{"name": "watch", "trigger": {"type": "manual"}, "action": {"type": "lightweight", "prompt": "say: The tap drips."}}', 1, NULL, NULL, NULL, 300000000, 1, 0, 0, NULL, 0, 1795430549414654, 1795430549567856, 1, 0, 0, '', '2158b1bdd10e3ffb981628b714320683cc191768eb7743fa7dd5e1ec5ed4d945', 1, 1795430545409902, 1795430545409902, NULL, NULL, NULL, NULL, NULL);
INSERT INTO routines VALUES ('01a207ff-fc26-7b64-8e53-cc66bc5b9190', 'owner', 'nightly', 'manual', '{"name": "nightly", "trigger": {"type": "manual"}, "action": {"type": "lightweight", "prompt": "hold the routine"}}', 1, NULL, NULL, NULL, 300000000, 1, 0, 0, NULL, 0, 1795430550442124, NULL, 0, 0, 0, '', NULL, 1, 1795430546480287, 1795430546480287, NULL, NULL, NULL, NULL, NULL);
DELETE FROM routine_runs;
INSERT INTO routine_runs VALUES ('01a20800-07a6-7e65-b3b0-5711242d04db', '01a207ff-f7fc-7071-b5da-450e36193130', 'manual:01a20800-07a5-7a79-b5c1-7209fcea901c', 'manual', '{"by": "manual", "request_id": "01a20800-07a5-7a79-b5c1-7209fcea901c", "user_id": "owner"}', NULL, 'attention', 1795430549414382, 1795430549414382, 1, NULL, 1795430549417969, 1795430549567856, 'The tap drips.

# What fired the routine
A person asked for this run.', NULL, 180, 18, '🔔 Routine “watch” has something for you

The tap drips.

# What fired the routine
A person asked for this run.', 'sent', 1795430549574595, 'xszc5zdfb5', 1795430549414656, 0, NULL, NULL);
INSERT INTO routine_runs VALUES ('01a20800-0ba5-729d-8c90-c10464c43ef3', '01a207ff-fc26-7b64-8e53-cc66bc5b9190', 'manual:01a20800-0ba2-7430-814a-e96db083d2f0', 'manual', '{"by": "manual", "request_id": "01a20800-0ba2-7430-814a-e96db083d2f0", "user_id": "owner"}', NULL, 'running', 1795430550437710, 1795430550437710, 1, 1795430641859076, 1795430551867323, NULL, NULL, NULL, 0, 0, NULL, 'none', NULL, NULL, 1795430550442125, 0, NULL, NULL);
DELETE FROM notices;
INSERT INTO notices VALUES ('routine:01a20800-07a6-7e65-b3b0-5711242d04db', 8, '[]', 1795430549573656);
DELETE FROM tool_halt;
DELETE FROM tool_uses;
INSERT INTO tool_uses VALUES (1, 'owner', 'shell', 1795430548211925);
INSERT INTO tool_uses VALUES (2, 'owner', 'shell', 1795430549600249);
INSERT INTO tool_uses VALUES (3, 'owner', 'shell', 1795430552017352);
DELETE FROM audit;
INSERT INTO audit VALUES (1, 1795430539188599, 'policy', NULL, 'policy', NULL, '{"approvals":{"approvers":"requester","autonomous_denylist":["routine_create","routine_update","routine_delete","routine_fire","event_emit","secret_list","secret_delete"],"dangerous_operations":["delete","write","execute","modify"],"dangerous_tools":["shell","write_file","apply_patch","delete_file","http"],"expires_after_s":86400.0,"loop_timeout_s":300.0,"max_rounds":5,"max_tools":20,"preset":"auto_loop","quorum":1,"rules":[],"shell_per_hour":300,"shell_per_minute":30,"tool_timeout_s":30.0,"tool_timeouts":{"shell":120.0},"whitelist":["time","json","echo","ask_user","memory_write","memory_read","memory_search","memory_tree","tool_list","tool_info","message","read_attachment"]},"owner":"owner","owner_identities":["telegram:7"],"policy":{"ceiling":{},"ceiling_for":{},"disabled":[],"disabled_for":{},"unreadable":null},"roles":{"guest":{"daily_model_calls":50,"tools":["time","json","ask_user"]},"member":{"ask_owner":false,"tools":["shell","write_file","time"]}},"teams":{}}', '00d80127efc1adfe', X'69C9E42327EA12E8977F962ADF1EF4F26FEB6E79FC58EBCE3DB782972479FE21', '00d80127efc1adfe:0a80b26ad0ecdeb60a27e49320b7455bfe6611868ba33ca8d2a140be9e31ef70');
INSERT INTO audit VALUES (2, 1795430539546970, 'role', NULL, '01a207ff-e11a-763d-aed5-2d5770d03132', NULL, '{"before":null,"role":"member"}', '00d80127efc1adfe', X'F6BEACDA201382CC741404577257432960863CAE0FD9D6E3D19FBAE4FD9CFDB4', '00d80127efc1adfe:38ae9b99777e4c3baefb4c2cf1cc5edae94b755cec808531b59f209cb9852c2f');
INSERT INTO audit VALUES (3, 1795430539564416, 'linked', NULL, 'telegram:8', NULL, '{"user":"01a207ff-e11a-763d-aed5-2d5770d03132"}', '00d80127efc1adfe', X'3B4FF02A8DCA894660884C9ACCE1DC7D5556FD2254A464C6C1821E5B667AA806', '00d80127efc1adfe:2ef1e85c3791b4b4c0446b69464dc6ab9141bb9a692480034813d2d53b99a953');
INSERT INTO audit VALUES (4, 1795430540851510, 'role', NULL, '01a207ff-e633-78d6-87f9-99c03e554a12', NULL, '{"before":null,"role":"member"}', '00d80127efc1adfe', X'E6EB28D5FA8170AD20C5D06EAB569781DC42F6C4277A0A594776D9EAB7D2732E', '00d80127efc1adfe:0b8832cf47c4f464edeeb8eeeded1bb140f1c7ebf4a1ac15eadaee2a55d09d87');
INSERT INTO audit VALUES (5, 1795430541345549, 'linked', NULL, 'telegram:10', NULL, '{"user":"01a207ff-e633-78d6-87f9-99c03e554a12"}', '00d80127efc1adfe', X'38DF7A86BA950CEF6F60A0E2864C37DB513B443D095888B1CF26512EEB09DD5B', '00d80127efc1adfe:22ba36fa3c5e70e8a2920a2679435385fee6f48e94cca6d2e35dddac1a394779');
INSERT INTO audit VALUES (6, 1795430542599225, 'role', NULL, '01a207ff-ed07-71a2-af92-d467a3216806', NULL, '{"before":null,"role":"member"}', '00d80127efc1adfe', X'FA6209B7BB251027AE8DA6B9985FC17D87F2FA31BD9F15F1F69B73CABAB3E046', '00d80127efc1adfe:e26f6036870f184245079deba0553577cb80ab78db2ad5720db563975d0b2a47');
INSERT INTO audit VALUES (7, 1795430542607360, 'linked', NULL, 'telegram:9', NULL, '{"user":"01a207ff-ed07-71a2-af92-d467a3216806"}', '00d80127efc1adfe', X'A79D1FFF64593702D93EA0B71D158D4959401B9FA2B2FC29439F42B3ADA4C4FE', '00d80127efc1adfe:0bcbc764bbb550031a737f8d50b73fa09e71238e35f49939555f1824d686b65a');
INSERT INTO audit VALUES (8, 1795430544305204, 'secret_set', 'owner', 'garden', NULL, '{"key":"e92cf7d8cd826649"}', '00d80127efc1adfe', X'F9BF38087D310147B231DE3C5D8790A2043328C134E88FF038A8B433C37E2C2F', '00d80127efc1adfe:009eed3b02018ea919b1d3f733de459a7bb5c7c5b0de7d1d57b1d66484b00c50');
INSERT INTO audit VALUES (9, 1795430548099315, 'account', NULL, 'telegram:7', NULL, '{"event":"tg:123456:m:7:1","user":"owner","via":"config"}', '00d80127efc1adfe', X'EC5FB0A3C7541BE77DFAB3807F73B01BACD89E4D27D6BA9230F88EF9B65D5EEB', '00d80127efc1adfe:cb273750641798071db27fd13c8f75a78c25fc15693640e23111e239bb2c5458');
INSERT INTO audit VALUES (10, 1795430548190950, 'asked', 'owner', '36zeqkptmt', '01a20800-02ab-7e97-9840-47b2f411ce66', '{"about":"approval","approvers":[],"binding":"21c375f3f8010c799d303500171562117cc31751a87cba13c2f8ba1b5397ad3a","call":"01a20800-02b2-771c-9ab3-337ab9e99030","calls":[],"events":["tg:123456:m:-1000002000001:11"],"quorum":1,"tool":"shell"}', '00d80127efc1adfe', X'4DB8B283A7E9E54EE7DFEABD69FD7CCB714019C1FAF881B43D2EE7B914E6C2EF', '00d80127efc1adfe:14e86566c5dce3670b5442d7ceaf440392374fec9c6ab1b3605ebb3a982f80da');
INSERT INTO audit VALUES (11, 1795430548197648, 'granted', 'owner', '01a20800-02e5-7040-93bc-a6eaeaef56cf', NULL, '{"event":"tg:123456:cb:4382000000000000001","expires_at":null,"pattern":">> granted.txt echo granted","scope":"user","tool":"shell","user":"owner"}', '00d80127efc1adfe', X'8697E0AE5F4C5738B25B8BF3BD6024AB4C777AE3FA2DE34952026FF6EDCC2CF3', '00d80127efc1adfe:4a8942646a0f0b29ea5e1504d707acffc7a0c0cfb5ed0487575f8ae02fdef2b7');
INSERT INTO audit VALUES (12, 1795430548197964, 'vote', 'owner', '36zeqkptmt', '01a20800-02ab-7e97-9840-47b2f411ce66', '{"answer":"always","event":"tg:123456:cb:4382000000000000001"}', '00d80127efc1adfe', X'B564FFD9D8070A0D9DE26B5C726C437F9F55467BEA5310A4768445F622189C6C', '00d80127efc1adfe:378b337b6d966af171eb4701615bf56d0aeeb914136321e13f710ee3e84c4cf1');
INSERT INTO audit VALUES (13, 1795430548198196, 'decided', 'owner', '36zeqkptmt', '01a20800-02ab-7e97-9840-47b2f411ce66', '{"about":"approval","call":"01a20800-02b2-771c-9ab3-337ab9e99030","event":"tg:123456:cb:4382000000000000001","events":["tg:123456:m:-1000002000001:11"],"outcome":"always"}', '00d80127efc1adfe', X'8DF24D0908D9C945C73EBB643FB1A3D8211CF388231D8608BACF1661EC91E1DF', '00d80127efc1adfe:9743210ac252968aeb3b61a629b1e3e1a63ca0306ac63bafe639188171275096');
INSERT INTO audit VALUES (14, 1795430548212301, 'started', 'owner', '01a20800-02b2-771c-9ab3-337ab9e99030', '01a20800-02ab-7e97-9840-47b2f411ce66', '{"arguments":"4760c2e3ab407b59709469f5e20348555791a409828f5520ea1b6cc4b26f872c","events":["tg:123456:m:-1000002000001:11"],"tool":"shell"}', '00d80127efc1adfe', X'BCADD12597FED16EE16B947B7DB0FE20CB35F2280EB18E076B50EE0514E72271', '00d80127efc1adfe:7daa60501a91abe3342843f39ee427f84d26e8d0c3ae752409123f62142406e9');
INSERT INTO audit VALUES (15, 1795430548377151, 'ended', 'owner', '01a20800-02b2-771c-9ab3-337ab9e99030', '01a20800-02ab-7e97-9840-47b2f411ce66', '{"arguments":"4760c2e3ab407b59709469f5e20348555791a409828f5520ea1b6cc4b26f872c","ended_at":1795430548376805,"events":["tg:123456:m:-1000002000001:11"],"started_at":1795430548212126,"status":"ok","tool":"shell"}', '00d80127efc1adfe', X'15CFEE8D005C76C267014D9774FF45BC0610A33FCC091A03F09EBD84CF2608F1', '00d80127efc1adfe:4d23876c59324ee107f85f5f5702c54b63be3253acae7dd98abbf89814b5e5a2');
INSERT INTO audit VALUES (16, 1795430549072779, 'policy', NULL, 'policy', NULL, '{"approvals":{"approvers":"requester","autonomous_denylist":["routine_create","routine_update","routine_delete","routine_fire","event_emit","secret_list","secret_delete"],"dangerous_operations":["delete","write","execute","modify"],"dangerous_tools":["shell","write_file","apply_patch","delete_file","http"],"expires_after_s":86400.0,"loop_timeout_s":300.0,"max_rounds":3,"max_tools":20,"preset":"auto_loop","quorum":1,"rules":[{"approvers":"team:ops","ask_in":"","escalate_after_s":null,"escalate_to":null,"not_requester":false,"quorum":2,"risk":null,"role":null,"tool":"write_file"}],"shell_per_hour":300,"shell_per_minute":30,"tool_timeout_s":30.0,"tool_timeouts":{"shell":120.0},"whitelist":["time","json","echo","ask_user","memory_write","memory_read","memory_search","memory_tree","tool_list","tool_info","message","read_attachment"]},"owner":"owner","owner_identities":["telegram:7"],"policy":{"ceiling":{},"ceiling_for":{},"disabled":[],"disabled_for":{},"unreadable":null},"roles":{"guest":{"daily_model_calls":50,"tools":["time","json","ask_user"]},"member":{"ask_owner":false,"tools":["shell","write_file","time"]}},"teams":{"ops":["owner","01a207ff-ed07-71a2-af92-d467a3216806"]}}', '00d80127efc1adfe', X'10CFD677A0B78E2206B2DC6A6D1DE52FBFE9647B95773BE0AF920B05B2B3B75E', '00d80127efc1adfe:0c2db2874ccb967b6978b2bb7c248a4b6f527e7ee86df3852c0e737028ae608f');
INSERT INTO audit VALUES (17, 1795430549565367, 'answered', NULL, '01a20800-02ab-72a3-9b50-bdf105cd5d8f', '01a20800-02ab-7e97-9840-47b2f411ce66', '{"events":["tg:123456:m:-1000002000001:11"],"outbox":[7],"state":"done"}', '00d80127efc1adfe', X'C89ACE0B745F84F68A90AF8109C87932650E7047A7E96BFD4F539F195774E49E', '00d80127efc1adfe:748c7fd09b3fa75079457885fee530487787f439a889cd7b5e8041e4ac3c407c');
INSERT INTO audit VALUES (18, 1795430549588514, 'asked', 'owner', 'n3x2bej7cq', '01a20800-084a-7d5f-88fe-4339c334291a', '{"about":"approval","approvers":[],"binding":"a7d74c5ddab77811bb78205b4eb86943f5d8f899924ceda804246ad77097e686","call":"01a20800-084e-7f36-912c-ab745427e9e3","calls":[],"events":["tg:123456:m:-1000002000001:14"],"quorum":1,"tool":"shell"}', '00d80127efc1adfe', X'CB3261D47A42F8549BB9DD9743AC295DC7DC03EFC020BAD7C60FF91499F5F375', '00d80127efc1adfe:9c274eab68a975f950f482863b5a593b2d510ed5146be635fe0b35e2641b666f');
INSERT INTO audit VALUES (19, 1795430549593308, 'vote', 'owner', 'n3x2bej7cq', '01a20800-084a-7d5f-88fe-4339c334291a', '{"answer":"approve","event":"tg:123456:cb:4382000000000000002"}', '00d80127efc1adfe', X'9A8188AE14FA7BEE72EEBDB6F722D42C796C3F72A833C179B01A870360DD29DC', '00d80127efc1adfe:330382a43d3488e4f5c5f3c03729181a78b59f1f0a2c47571534b910328ba18b');
INSERT INTO audit VALUES (20, 1795430549593458, 'decided', 'owner', 'n3x2bej7cq', '01a20800-084a-7d5f-88fe-4339c334291a', '{"about":"approval","call":"01a20800-084e-7f36-912c-ab745427e9e3","event":"tg:123456:cb:4382000000000000002","events":["tg:123456:m:-1000002000001:14"],"outcome":"approve"}', '00d80127efc1adfe', X'27A7DC1556220924F32FCCA29300FFCD61F798F7033C7A5645238E007418AEAB', '00d80127efc1adfe:0e6a3de753c6cb683747f624b770ff8068813a2d0de17889a4574c478e068ca4');
INSERT INTO audit VALUES (21, 1795430549600392, 'started', 'owner', '01a20800-084e-7f36-912c-ab745427e9e3', '01a20800-084a-7d5f-88fe-4339c334291a', '{"arguments":"5941dc622981e9ffd306b4e3b99c8dbcedbc3cbd84166fa80d22549096eb434a","events":["tg:123456:m:-1000002000001:14"],"tool":"shell"}', '00d80127efc1adfe', X'46B47AE747C2EF9CA764275A9F8A56CDE5E0D2D04AF4BCBA408BA65636427FF4', '00d80127efc1adfe:8e7fa785a49a4c82f9ac72e95c2c4fefb8329850ea0a29226c9159b307f83a5a');
INSERT INTO audit VALUES (22, 1795430551714222, 'asked', 'owner', '5fny9e9k2f', '01a20800-084a-7d5f-88fe-4339c334291a', '{"about":"unknown_outcome","approvers":[],"binding":"a7d74c5ddab77811bb78205b4eb86943f5d8f899924ceda804246ad77097e686","call":"01a20800-084e-7f36-912c-ab745427e9e3","calls":[],"events":["tg:123456:m:-1000002000001:14"],"quorum":1,"tool":"shell"}', '00d80127efc1adfe', X'A4F8AFCB91945E854AA76549A2156C3B875FD592EAD844939D3560B8E30806EB', '00d80127efc1adfe:b9b3c648c7f8d9368006514172c5956124ce656e49836e037249fd45ff79cea6');
INSERT INTO audit VALUES (23, 1795430551903146, 'asked', 'owner', '04ded7erdv', '01a20800-1124-71e3-9497-6733cbbdc55b', '{"about":"approval","approvers":[],"binding":"5cde9eedc7d77406b0c50b28acd5ae150aef64b155f130d6ac0d052c45fd0d4d","call":"01a20800-1135-720a-a88a-a87ab0d785d5","calls":[],"events":["tg:123456:m:-1000002000001:17"],"quorum":1,"tool":"shell"}', '00d80127efc1adfe', X'93DFF461FF31AF19ED43D55433765A6B066C72A482BAC6B47A021BB693D646C3', '00d80127efc1adfe:d9eb6eaa3bdaf7881ee2f9116ddb383fec2fec4fc8a91b671f6bb330168a1a40');
INSERT INTO audit VALUES (24, 1795430551920066, 'asked', 'owner', '68nmn05rya', '01a20800-1167-7d6b-b9a9-edf1b123e25e', '{"about":"approval","approvers":[],"binding":"e6cbd9d1e72b8326bd6c68841ad21dfc8d4211085285687342e9318cf095a314","call":null,"calls":["01a20800-116c-7dbf-a155-3c80e2f9839c","01a20800-116c-7f89-b077-222be9bdf509"],"events":["tg:123456:m:-1000002000001:19"],"quorum":1,"tool":null}', '00d80127efc1adfe', X'49A794B67EC4DD6ED49C43CDABA6A9FA911D1A54792369F9F5899CE4246D05C3', '00d80127efc1adfe:3fe90d94fa9a1f392a01482ca6c88fadaade263357520284e18a432d57c6be78');
INSERT INTO audit VALUES (25, 1795430551943929, 'asked', 'owner', 'svb4z7dcj7', '01a20800-1179-70e8-8d2a-a6a17ff4140c', '{"about":"question","approvers":["owner"],"binding":"","call":"01a20800-1181-741d-94e9-88de84f47f7c","calls":[],"events":["tg:123456:m:-1000002000001:21"],"quorum":1,"tool":"ask_user"}', '00d80127efc1adfe', X'291669FA3680314CF0EB65C962B7139CD2ABB724A4259B2AE059741BDDC946DD', '00d80127efc1adfe:c8d7e7abcec3cb543e8af8db61c6bbc1e1085874fa0c241c7a406604cc2a33ec');
INSERT INTO audit VALUES (26, 1795430551952098, 'ended', 'owner', '01a20800-118e-7432-a6f3-79c48bd4ecc1', '01a20800-118b-711c-bace-e47a6f6b9213', '{"arguments":"5133d771a85c0581b14a3be939f19ca255f430948417b50a8a72ae66b507699f","ended_at":1795430551951830,"events":["tg:123456:m:-1000002000001:23"],"started_at":1795430551951446,"status":"ok","tool":"time"}', '00d80127efc1adfe', X'F152ADCCEEA5E832863247E3F9FC9440A109E0835B318588FB563FD5AEEA6118', '00d80127efc1adfe:0db8da2aa5b3d438161dd6d3d52f3e8a4f0bab6848eb0c331296d1837adaf941');
INSERT INTO audit VALUES (27, 1795430551955183, 'ended', 'owner', '01a20800-1192-703a-a38c-a5b79f3c2b44', '01a20800-118b-711c-bace-e47a6f6b9213', '{"arguments":"5133d771a85c0581b14a3be939f19ca255f430948417b50a8a72ae66b507699f","ended_at":1795430551955103,"events":["tg:123456:m:-1000002000001:23"],"started_at":1795430551954848,"status":"ok","tool":"time"}', '00d80127efc1adfe', X'C135CC7898E56CCFA33EA5C9CE64C5032858FE4AC94297997F5450397321B7AE', '00d80127efc1adfe:892c01c9a857098d584976bbcbf061880a48333df604ae06d7f3ec367eafefb6');
INSERT INTO audit VALUES (28, 1795430551958200, 'ended', 'owner', '01a20800-1195-749a-84cc-e37bf56f309a', '01a20800-118b-711c-bace-e47a6f6b9213', '{"arguments":"5133d771a85c0581b14a3be939f19ca255f430948417b50a8a72ae66b507699f","ended_at":1795430551958099,"events":["tg:123456:m:-1000002000001:23"],"started_at":1795430551957798,"status":"ok","tool":"time"}', '00d80127efc1adfe', X'8BC27F8583DDE0C16BAF27AD7D5BDF0D383404D10D71F81A568CA1AA02EB9C8E', '00d80127efc1adfe:dff2b094b6f2e6be52c2289542b3c610e46ffec779b872f2350da56a81ca9a7d');
INSERT INTO audit VALUES (29, 1795430551959018, 'asked', 'owner', 'npcc1kw0e0', '01a20800-118b-711c-bace-e47a6f6b9213', '{"about":"continue","approvers":[],"binding":"","call":null,"calls":[],"events":["tg:123456:m:-1000002000001:23"],"quorum":1,"tool":null}', '00d80127efc1adfe', X'1B0535C7B1A9A0E6538093A98FF9BF35C14F4CF3E8991AE5E831A557F6EFFC98', '00d80127efc1adfe:5a09d4a69dfa4e2ade9b7544a4542b9675394815d31808e564f815cfb35e3736');
INSERT INTO audit VALUES (30, 1795430551977886, 'asked', '01a207ff-e11a-763d-aed5-2d5770d03132', '23yxyh98dj', '01a20800-119a-737a-9839-02463686bbaa', '{"about":"approval","approvers":["owner","01a207ff-ed07-71a2-af92-d467a3216806"],"binding":"3b2f7dced59b23ce06e025a1b9c0d98e8e73d218212ed62db91fe438b6ab28f0.73f2201d59f74037eaefb2334323c2f5477564d0487930ef4bc3ce88d77bd7c3","call":"01a20800-11a2-750e-9671-c8e01b506c7f","calls":[],"events":["tg:123456:m:8:10"],"quorum":2,"tool":"write_file"}', '00d80127efc1adfe', X'74947D48A7D0BFC4504EFAAF8E17A4AE4F606DC735E42C847776796D77DAE931', '00d80127efc1adfe:52535f78679e7f8110eb488f3926fa1432fd4981f50b0a23d526db3f1d0ab715');
INSERT INTO audit VALUES (31, 1795430551988255, 'vote', '01a207ff-ed07-71a2-af92-d467a3216806', '23yxyh98dj', '01a20800-119a-737a-9839-02463686bbaa', '{"answer":"approve","event":"tg:123456:cb:4382000000000000003"}', '00d80127efc1adfe', X'638DEA7CAC9122D027C4030BE6BBDD304F6F88A862483E5EC2962A849BB68485', '00d80127efc1adfe:4615ab631a1cc0f15e832607138cf9d56879ed17fb4f80698a8aae1b58a4c9dc');
INSERT INTO audit VALUES (32, 1795430552000173, 'asked', 'owner', '03p3fngj7a', '01a20800-11b9-7a86-bc88-a6d72e2f46b5', '{"about":"approval","approvers":[],"binding":"5a3bdfe44180580ba8a6f88dd8316a397dcfb7eb94b2d10b5903fd3ffbfd3061","call":"01a20800-11bd-73ef-a167-ec7a3adb8cf2","calls":[],"events":["tg:123456:m:-1000002000001:25"],"quorum":1,"tool":"shell"}', '00d80127efc1adfe', X'933A675D7CCDDDF1BE454A629A41B06EA171704A71A29EB7AF1EF9784CF2596F', '00d80127efc1adfe:621ef572bdcd5a20094e0cb154247df3d4f44e9f0f53bb416fa2c0f1c2001567');
INSERT INTO audit VALUES (33, 1795430552006478, 'vote', 'owner', '03p3fngj7a', '01a20800-11b9-7a86-bc88-a6d72e2f46b5', '{"answer":"approve","event":"tg:123456:cb:4382000000000000004"}', '00d80127efc1adfe', X'A6E9B2E40F46723BD2F9E4CA820220ACE0D697A2F2546CB78758A10E154860AA', '00d80127efc1adfe:9774724c48bce9e729764717d2232f3b99b4d858229351cb9875b267dc705162');
INSERT INTO audit VALUES (34, 1795430552006740, 'decided', 'owner', '03p3fngj7a', '01a20800-11b9-7a86-bc88-a6d72e2f46b5', '{"about":"approval","call":"01a20800-11bd-73ef-a167-ec7a3adb8cf2","event":"tg:123456:cb:4382000000000000004","events":["tg:123456:m:-1000002000001:25"],"outcome":"approve"}', '00d80127efc1adfe', X'50F031DE40A678E8D7035748C91B512CD8DF74FC22806F3436302164C4774B88', '00d80127efc1adfe:69703b7753ab69e35012075b9e1109a225a23f7688f043c4769721320009661b');
INSERT INTO audit VALUES (35, 1795430552017544, 'started', 'owner', '01a20800-11bd-73ef-a167-ec7a3adb8cf2', '01a20800-11b9-7a86-bc88-a6d72e2f46b5', '{"arguments":"3b78885867b1e95bd698123d67d017d90b31a0c845d6d88a8993b9c83029a012","events":["tg:123456:m:-1000002000001:25"],"tool":"shell"}', '00d80127efc1adfe', X'21B0922FD9FB90C95DF4DDF7DE6835CCB9C6510E44ACD60ED957D5B4A37FE69C', '00d80127efc1adfe:fbff9be5326d0c78a53b3750306dc9e1c6a70fa478bd65a8373f46fdc401c909');
INSERT INTO audit VALUES (36, 1795430553096489, 'asked', 'owner', 'e51e15wwdt', '01a20800-1602-715e-aa7b-ad474d05e51d', '{"about":"question","approvers":["owner"],"binding":"","call":"01a20800-1606-7c1e-a5f3-fe37b8c9cdeb","calls":[],"events":["tg:123456:m:7:18"],"quorum":1,"tool":"tool_auth"}', '00d80127efc1adfe', X'63B630903632B2188F5EA78D61B3A4BC67CA35F5BBA54B1EC9BEFDEAB550D204', NULL);
DELETE FROM audit_checkpoint;
DELETE FROM run_steps;
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
