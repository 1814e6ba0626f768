PRAGMA foreign_keys = OFF;
BEGIN;
CREATE TABLE users (
    id         TEXT NOT NULL PRIMARY KEY,
    role       TEXT NOT NULL CHECK (role IN ('owner', 'member', 'guest')),
    name       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    preset     TEXT,
    limits     TEXT,  -- JSON of the limits set of max_rounds, max_tools, loop_timeout_s; null: none
    timezone   TEXT  -- null: the hub's default
) STRICT, WITHOUT ROWID;
CREATE TABLE identities (
    channel               TEXT NOT NULL,
    platform_user_id      TEXT NOT NULL,
    user_id               TEXT NOT NULL REFERENCES users (id),
    via                   TEXT NOT NULL,
    name                  TEXT NOT NULL,
    username              TEXT,
    created_at            INTEGER NOT NULL,
    root_channel          TEXT,  -- the account that vouches for a linked one
    root_platform_user_id TEXT,
    direct_address        TEXT,  -- of the last private message; null: none yet
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
CREATE TABLE api_keys (
    hash       TEXT NOT NULL PRIMARY KEY,
    kind       TEXT NOT NULL CHECK (kind IN ('session', 'token')),
    user_id    TEXT NOT NULL REFERENCES users (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE hooked_sessions (
    user_id  TEXT NOT NULL PRIMARY KEY REFERENCES users (id),
    began_at INTEGER NOT NULL,
    ended_at INTEGER
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
    last_turn      INTEGER NOT NULL DEFAULT 0,
    limits         TEXT  -- as those of users
) STRICT, WITHOUT ROWID;
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
    state          TEXT NOT NULL
                       CHECK (state IN ('running', 'waiting', 'done', 'failed', 'stopped', 'crashed')),
    attempts       INTEGER NOT NULL CHECK (attempts >= 0),  -- starts without progress
    first_seq      INTEGER NOT NULL,
    last_seq       INTEGER NOT NULL CHECK (last_seq >= first_seq),
    budget_from    INTEGER NOT NULL,  -- rounds and tools count after this seq
    running_since  INTEGER,
    spent_us       INTEGER NOT NULL DEFAULT 0,
    stop_requested INTEGER NOT NULL DEFAULT 0 CHECK (stop_requested IN (0, 1)),
    error          TEXT,
    created_at     INTEGER NOT NULL,
    ended_at       INTEGER,
    reply_to       TEXT,  -- the message it answers, where others write in between
    events         TEXT NOT NULL DEFAULT '[]',  -- JSON list: keys of the events it answers, for the audit
    CHECK ((state = 'running') = (running_since IS NOT NULL)),
    CHECK ((state IN ('running', 'waiting')) = (ended_at IS NULL))
) STRICT, WITHOUT ROWID;
CREATE TABLE entries (
    thread_id TEXT NOT NULL REFERENCES threads (id),
    seq       INTEGER NOT NULL,
    turn_id   TEXT REFERENCES turns (id),
    at        INTEGER NOT NULL,
    kind      TEXT NOT NULL
                  CHECK (kind IN ('user', 'assistant', 'call', 'result', 'summary', 'note', 'operator')),
    text      TEXT NOT NULL,  -- a call's arguments as the model gave them
    call_id   TEXT,
    name      TEXT,  -- user: who speaks; call: the tool; result: its status
    extra     TEXT,  -- assistant: where it came from; summary: what it covers
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
    received_at      INTEGER NOT NULL,
    counted          INTEGER NOT NULL DEFAULT 0 CHECK (counted IN (0, 1)),
    album            TEXT,  -- parts of one album wait for each other until wait_until, then they are one input
    wait_until       INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE feed (
    thread_id TEXT NOT NULL REFERENCES threads (id),
    seq       INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    kind      TEXT NOT NULL CHECK (kind IN ('event', 'message', 'card', 'outcome')),
    turn_id   TEXT REFERENCES turns (id),
    event_id  INTEGER REFERENCES inbox (id),  -- a person's command, or answer in words
    outbox_id INTEGER REFERENCES outbox (id),  -- what the hub says itself
    gate_id   TEXT REFERENCES gates (id),  -- a card, or what became of it
    PRIMARY KEY (thread_id, seq),
    CHECK ((kind = 'event') = (event_id IS NOT NULL)),
    CHECK ((kind = 'message') = (outbox_id IS NOT NULL)),
    CHECK ((kind IN ('card', 'outcome')) = (gate_id IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE TABLE calls (
    id            TEXT NOT NULL PRIMARY KEY,
    thread_id     TEXT NOT NULL,
    seq           INTEGER NOT NULL,
    turn_id       TEXT NOT NULL REFERENCES turns (id),
    tool          TEXT NOT NULL,
    effect        TEXT NOT NULL CHECK (effect IN ('none', 'idempotent', 'effect')),
    state         TEXT NOT NULL
                      CHECK (state IN ('intent', 'waiting', 'approved', 'denied', 'running', 'unknown', 'ended')),
    status        TEXT CHECK (status IN ('ok', 'error', 'denied', 'cancelled', 'skipped', 'unknown')),
    binding       TEXT,
    gate_id       TEXT,
    answer        TEXT,
    answered_by   TEXT,
    pid           INTEGER,
    process_group INTEGER,
    started_ticks INTEGER,
    edited        TEXT,  -- arguments as a person changed them before approving
    edited_by     TEXT,
    round         INTEGER,  -- the model's, counted from a person's last say; null: not recorded
    started_at    INTEGER,  -- null: it did not run
    ended_at      INTEGER,
    FOREIGN KEY (thread_id, seq) REFERENCES entries (thread_id, seq),
    CHECK ((state = 'ended') = (status IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE TABLE gates (
    id            TEXT NOT NULL PRIMARY KEY,
    kind          TEXT NOT NULL
                      CHECK (kind IN ('approval', 'question', 'unknown_outcome', 'budget', 'continue', 'menu')),
    state         TEXT NOT NULL CHECK (state IN ('open', 'closed')),
    thread_id     TEXT NOT NULL REFERENCES threads (id),
    turn_id       TEXT NOT NULL REFERENCES turns (id),
    call_id       TEXT REFERENCES calls (id),
    requester_id  TEXT NOT NULL REFERENCES users (id),
    title         TEXT NOT NULL,
    detail        TEXT NOT NULL,
    options       TEXT NOT NULL,  -- separated by spaces
    approvers     TEXT NOT NULL,  -- JSON list of user ids
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
    closed_at     INTEGER,
    labels        TEXT,  -- JSON list; null: the answers are `options`
    free_text     INTEGER NOT NULL DEFAULT 0 CHECK (free_text IN (0, 1)),
    remind_at     INTEGER,  -- null: never, or done
    escalate_to   TEXT NOT NULL DEFAULT '[]',  -- JSON list of user ids
    escalate_at   INTEGER,  -- null: never, or done
    escalated     INTEGER NOT NULL DEFAULT 0 CHECK (escalated IN (0, 1)),
    calls         TEXT,  -- JSON list of the calls of a joint gate, in order; null: one call, or none
    secret        TEXT,  -- the name under which the answer goes into the vault
    first_choice  INTEGER NOT NULL DEFAULT 0,  -- position of the first answer shown since the call was edited
    changed_at    INTEGER,
    -- The requester's next text may be the secret, also after the gate closed without an answer.
    awaits        INTEGER NOT NULL DEFAULT 0 CHECK (awaits IN (0, 1)),
    CHECK ((state = 'closed') = (closed_at IS NOT NULL)),
    CHECK (state = 'closed' OR (outcome IS NULL AND outcome_text IS NULL))
) STRICT, WITHOUT ROWID;
CREATE TABLE votes (
    gate_id TEXT NOT NULL REFERENCES gates (id),
    user_id TEXT NOT NULL REFERENCES users (id),
    name    TEXT NOT NULL,
    option  TEXT NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (gate_id, user_id)
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
CREATE TABLE tool_settings (
    user_id    TEXT NOT NULL REFERENCES users (id),
    tool       TEXT NOT NULL,
    setting    TEXT NOT NULL CHECK (setting IN ('always_allow', 'ask_each_time', 'disabled')),
    changed_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, tool)
) STRICT, WITHOUT ROWID;
CREATE TABLE tool_uses (
    id      INTEGER PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    tool    TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
CREATE TABLE tool_pause (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    by TEXT NOT NULL REFERENCES users (id),
    at INTEGER NOT NULL
) STRICT;
CREATE TABLE secrets (
    name       TEXT NOT NULL PRIMARY KEY,
    key_id     TEXT NOT NULL,
    sealed     BLOB NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE outbox (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    channel       TEXT NOT NULL,
    address       TEXT NOT NULL,
    message       TEXT NOT NULL,  -- JSON
    state         TEXT NOT NULL
                      CHECK (state IN ('queued', 'sending', 'sent', 'failed', 'ambiguous', 'streaming', 'replaced')),
    settled       INTEGER NOT NULL CHECK (settled IN (0, 1)),  -- nothing more will be done about it
    nonce         TEXT NOT NULL,
    refs          TEXT NOT NULL DEFAULT '[]',  -- JSON list, one per part sent
    order_key     TEXT,  -- of the last part sent
    edit_of       INTEGER REFERENCES outbox (id),
    replaces      INTEGER REFERENCES outbox (id),
    gate_id       TEXT REFERENCES gates (id),
    turn_id       TEXT REFERENCES turns (id),
    event_id      INTEGER REFERENCES inbox (id),
    not_before    INTEGER NOT NULL DEFAULT 0,
    attempts      INTEGER NOT NULL,
    repeats       INTEGER NOT NULL DEFAULT 0,
    error         TEXT,
    created_at    INTEGER NOT NULL,
    sent_at       INTEGER,
    -- Its last request was made between `asked_at` and `asked_by`, after the inbox had seen `asked_after`.
    asked_at      INTEGER,
    asked_by      INTEGER,
    asked_after   INTEGER,
    repeated_part INTEGER,  -- of a message sent again: the part, from 0, that may be shown twice
    CHECK (settled OR state IN ('queued', 'sending', 'ambiguous', 'streaming', 'replaced')),
    CHECK (NOT settled OR state IN ('sent', 'failed', 'ambiguous', 'replaced')),
    CHECK (state NOT IN ('streaming', 'replaced') OR turn_id IS NOT NULL)
) STRICT;
CREATE TABLE notices (
    key        TEXT NOT NULL PRIMARY KEY,
    outbox_id  INTEGER NOT NULL REFERENCES outbox (id),  -- the last attempt
    elsewhere  TEXT NOT NULL,  -- JSON list: where it goes if that one is refused
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE outbound_judged (
    outbox_id INTEGER PRIMARY KEY REFERENCES outbox (id),
    at        INTEGER NOT NULL
) STRICT;
CREATE TABLE routines (
    id               TEXT NOT NULL PRIMARY KEY,
    owner_id         TEXT NOT NULL REFERENCES users (id),
    name             TEXT NOT NULL,
    kind             TEXT NOT NULL CHECK (kind IN ('cron', 'event', 'system_event', 'webhook', 'manual')),
    definition       TEXT NOT NULL,
    enabled          INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    paused_because   TEXT,  -- why the hub itself paused it
    thread_id        TEXT REFERENCES threads (id),  -- where it was made
    webhook_path     TEXT,
    cooldown_us      INTEGER NOT NULL CHECK (cooldown_us >= 0),
    max_concurrent   INTEGER NOT NULL CHECK (max_concurrent >= 1),
    dedup_window_us  INTEGER NOT NULL DEFAULT 0,
    -- A run interrupted by a crash starts again.
    reruns           INTEGER NOT NULL DEFAULT 0 CHECK (reruns IN (0, 1)),
    next_slot_at     INTEGER,
    backoff_until    INTEGER NOT NULL DEFAULT 0,
    last_claimed_at  INTEGER,
    last_ended_at    INTEGER,
    run_count        INTEGER NOT NULL DEFAULT 0,
    failures         INTEGER NOT NULL DEFAULT 0,  -- in a row, until now
    skipped_slots    INTEGER NOT NULL DEFAULT 0,
    state            TEXT NOT NULL DEFAULT '',  -- the routine's own document
    tested_as        TEXT,  -- fingerprint of what last ended well
    version          INTEGER NOT NULL DEFAULT 1,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    daily_runs       INTEGER,  -- limits for all runs of a day together; null: no limit
    daily_tokens     INTEGER,
    daily_micro_usd  INTEGER,
    budget_notice_at INTEGER,  -- of the last notice that they are used up
    own_place        TEXT,  -- JSON: channel, the address it was made at, its own address there; null: none yet
    UNIQUE (owner_id, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE routine_runs (
    id             TEXT NOT NULL PRIMARY KEY,
    routine_id     TEXT NOT NULL REFERENCES routines (id),
    key            TEXT NOT NULL,  -- the slot, event, delivery or press that fired it
    kind           TEXT NOT NULL,
    input          TEXT NOT NULL,  -- JSON
    content_hash   TEXT,
    state          TEXT NOT NULL
                       CHECK (state IN ('waiting', 'running', 'ok', 'attention', 'failed', 'interrupted', 'skipped')),
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
    menu_id        TEXT,  -- the id in the notice's buttons
    created_at     INTEGER NOT NULL,
    cost_micro_usd INTEGER NOT NULL DEFAULT 0,
    scope          TEXT,  -- JSON: the tools it was given when it began
    missing_grants TEXT,  -- JSON list: grants that calls were refused for want of; the notice offers them
    CHECK ((state IN ('waiting', 'running')) = (ended_at IS NULL)),
    CHECK ((state = 'running') = (lease_until IS NOT NULL)),
    CHECK ((notice_state = 'none') = (notice IS NULL)),
    UNIQUE (routine_id, key)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE model_calls (
    user_id TEXT NOT NULL PRIMARY KEY REFERENCES users (id),
    day     TEXT NOT NULL,  -- as YYYY-MM-DD, in the hub's time zone
    calls   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE memories (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id    TEXT NOT NULL REFERENCES users (id),
    key        TEXT NOT NULL,
    text       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    path       TEXT,  -- null: a note; else `key` is that of the last change
    UNIQUE (user_id, key)
) STRICT;
CREATE VIRTUAL TABLE memory_terms USING fts5 (terms, content = '', tokenize = "unicode61 remove_diacritics 0");
CREATE TABLE audit (
    id        INTEGER PRIMARY KEY,  -- without a gap: the next one is one more
    at        INTEGER NOT NULL,
    kind      TEXT NOT NULL,
    actor     TEXT,  -- a user's id; null: the hub itself
    subject   TEXT NOT NULL,  -- the id of the call, gate, grant, account, secret … it is about
    thread_id TEXT,
    detail    TEXT NOT NULL,  -- JSON
    key_id    TEXT NOT NULL,  -- of the key that sealed it
    seal      BLOB NOT NULL,
    link      TEXT  -- null until it is chained
) STRICT;
CREATE TABLE audit_checkpoint (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    last_id INTEGER NOT NULL,
    link    TEXT NOT NULL,
    at      INTEGER NOT NULL,
    key_id  TEXT NOT NULL,
    seal    BLOB NOT NULL
) STRICT;
CREATE TABLE probe (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    at     INTEGER NOT NULL,
    filler BLOB NOT NULL
) STRICT;
DELETE FROM users;
INSERT INTO users VALUES ('01a20a1d-9e7f-7a9c-ad74-d73f4319bd40', 'member', 'Ben', 1795466043008319, NULL, NULL, NULL);
INSERT INTO users VALUES ('01a20a1d-a0f4-7ee1-a54d-2da444ca94e2', 'member', 'Dan', 1795466043637155, NULL, NULL, NULL);
INSERT INTO users VALUES ('01a20a1d-a373-7b12-88a2-02a3f82f08bf', 'member', 'Lea', 1795466044275985, NULL, NULL, NULL);
INSERT INTO users VALUES ('owner', 'owner', 'owner', 1795466041571468, NULL, NULL, NULL);
DELETE FROM identities;
INSERT INTO identities VALUES ('telegram', '10', '01a20a1d-a0f4-7ee1-a54d-2da444ca94e2', 'paired', '10', NULL, 1795466043641508, NULL, NULL, '10');
INSERT INTO identities VALUES ('telegram', '7', 'owner', 'config', 'Olivia', NULL, 1795466050247001, NULL, NULL, '7');
INSERT INTO identities VALUES ('telegram', '8', '01a20a1d-9e7f-7a9c-ad74-d73f4319bd40', 'paired', '8', NULL, 1795466043017833, NULL, NULL, '8');
INSERT INTO identities VALUES ('telegram', '9', '01a20a1d-a373-7b12-88a2-02a3f82f08bf', 'paired', '9', NULL, 1795466044283400, NULL, NULL, '9');
DELETE FROM refusals;
DELETE FROM noise;
DELETE FROM pairing_requests;
DELETE FROM link_offers;
DELETE FROM wrong_codes;
DELETE FROM api_keys;
DELETE FROM hooked_sessions;
DELETE FROM threads;
INSERT INTO threads VALUES ('01a20a1d-bae5-7c7a-95e2-e3e40d945b83', 'owner', 'telegram', '=-1000002000001:10', '-1000002000001:10', 'please run: echo granted >> granted.txt', NULL, 1795466050277632, 1795466050277956, 7, 1, NULL);
INSERT INTO threads VALUES ('01a20a1d-bef2-7631-bf10-82cfd2fe47eb', 'owner', 'telegram', '=-1000002000001:5', '-1000002000001:5', 'please run: echo unknown >> unknown.txt && sleep 600', NULL, 1795466051314636, 1795466051314698, 6, 1, NULL);
INSERT INTO threads VALUES ('01a20a1d-d18d-736f-a45b-2b3a1a3bb3dd', 'owner', 'telegram', '=-1000002000001:2', '-1000002000001:2', 'please run: echo approved >> approved.txt', NULL, 1795466056077708, 1795466056077924, 4, 1, NULL);
INSERT INTO threads VALUES ('01a20a1d-d1a1-73be-aa1c-6a68369d186a', 'owner', 'telegram', '=-1000002000001:3', '-1000002000001:3', 'please run: echo one >> joint.txt', NULL, 1795466056097781, 1795466056097878, 5, 1, NULL);
INSERT INTO threads VALUES ('01a20a1d-d1b1-74af-a02f-d39dd3321238', 'owner', 'telegram', '=-1000002000001:4', '-1000002000001:4', 'please call: ask_user {"question": "Which color?", "choices": ["red", "dark gree', NULL, 1795466056113392, 1795466056113468, 4, 1, NULL);
INSERT INTO threads VALUES ('01a20a1d-d1bc-784a-9f32-a8bea01b030e', 'owner', 'telegram', '=-1000002000001:6', '-1000002000001:6', 'count for ever', NULL, 1795466056124507, 1795466056124631, 11, 1, NULL);
INSERT INTO threads VALUES ('01a20a1d-d1d6-7ad1-a16b-8df53385a9ba', '01a20a1d-9e7f-7a9c-ad74-d73f4319bd40', 'telegram', '=8', '8', 'please call: write_file {"path": "quorum.txt", "content": "by two\n"}', NULL, 1795466056150087, 1795466056150174, 5, 1, NULL);
INSERT INTO threads VALUES ('01a20a1d-d1ef-7515-aca6-2cd6dca0f334', 'owner', 'telegram', '=-1000002000001:7', '-1000002000001:7', 'please run: echo running >> running.txt && sleep 600', NULL, 1795466056175928, 1795466056176007, 5, 1, NULL);
INSERT INTO threads VALUES ('01a20a1d-d25e-718c-8714-2131004b884f', 'owner', 'telegram', '=-1000002000001:8', '-1000002000001:8', 'hold the turn', NULL, 1795466056286469, 1795466056286635, 1, 1, NULL);
INSERT INTO threads VALUES ('01a20a1d-d25f-7833-8c21-2f101124fa92', '01a20a1d-a0f4-7ee1-a54d-2da444ca94e2', 'telegram', '=10', '10', 'say: Sent to Dan.', NULL, 1795466056287075, 1795466056287120, 2, 1, NULL);
INSERT INTO threads VALUES ('01a20a1d-d269-7d57-95cd-9c8e49be285e', 'owner', 'telegram', '=-1000002000001:9', '-1000002000001:9', 'tell the story', NULL, 1795466056297194, 1795466056297257, 1, 1, NULL);
INSERT INTO threads VALUES ('01a20a1d-d65a-7bed-beff-2300a412fad8', 'owner', 'telegram', '=7', '7', 'please call: tool_auth {"name": "shed", "purpose": "to open the shed"}', NULL, 1795466057306451, 1795466057306570, 4, 1, NULL);
INSERT INTO threads VALUES ('01a20a1d-d667-72d8-9ee8-4ef9654c7581', '01a20a1d-a373-7b12-88a2-02a3f82f08bf', 'telegram', '=9', '9', 'say: Sent to Lea.', NULL, 1795466057319957, 1795466057320034, 2, 1, NULL);
DELETE FROM thread_keys;
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:10', '01a20a1d-bae5-7c7a-95e2-e3e40d945b83');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:5', '01a20a1d-bef2-7631-bf10-82cfd2fe47eb');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:2', '01a20a1d-d18d-736f-a45b-2b3a1a3bb3dd');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:3', '01a20a1d-d1a1-73be-aa1c-6a68369d186a');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:4', '01a20a1d-d1b1-74af-a02f-d39dd3321238');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:6', '01a20a1d-d1bc-784a-9f32-a8bea01b030e');
INSERT INTO thread_keys VALUES ('01a20a1d-9e7f-7a9c-ad74-d73f4319bd40', 'telegram', '=8', '01a20a1d-d1d6-7ad1-a16b-8df53385a9ba');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:7', '01a20a1d-d1ef-7515-aca6-2cd6dca0f334');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:8', '01a20a1d-d25e-718c-8714-2131004b884f');
INSERT INTO thread_keys VALUES ('01a20a1d-a0f4-7ee1-a54d-2da444ca94e2', 'telegram', '=10', '01a20a1d-d25f-7833-8c21-2f101124fa92');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:9', '01a20a1d-d269-7d57-95cd-9c8e49be285e');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=7', '01a20a1d-d65a-7bed-beff-2300a412fad8');
INSERT INTO thread_keys VALUES ('01a20a1d-a373-7b12-88a2-02a3f82f08bf', 'telegram', '=9', '01a20a1d-d667-72d8-9ee8-4ef9654c7581');
DELETE FROM sessions;
INSERT INTO sessions VALUES ('01a20a1d-9e7f-7a9c-ad74-d73f4319bd40', '01a20a1d-d1d6-7ad1-a16b-8df53385a9ba', 1795466056150131);
INSERT INTO sessions VALUES ('01a20a1d-a0f4-7ee1-a54d-2da444ca94e2', '01a20a1d-d25f-7833-8c21-2f101124fa92', 1795466056287101);
INSERT INTO sessions VALUES ('01a20a1d-a373-7b12-88a2-02a3f82f08bf', '01a20a1d-d667-72d8-9ee8-4ef9654c7581', 1795466057319995);
INSERT INTO sessions VALUES ('owner', '01a20a1d-d65a-7bed-beff-2300a412fad8', 1795466050277890);
DELETE FROM turns;
INSERT INTO turns VALUES ('01a20a1d-bae5-73be-86f7-9b146adabc90', '01a20a1d-bae5-7c7a-95e2-e3e40d945b83', 1, 'owner', 'done', 0, 1, 7, 1, NULL, 1016824, 0, NULL, 1795466050277956, 1795466051302367, '-1000002000001:11', '["tg:123456:m:-1000002000001:11"]');
INSERT INTO turns VALUES ('01a20a1d-bef2-74f5-89fd-3e87b8eaaf4e', '01a20a1d-bef2-7631-bf10-82cfd2fe47eb', 1, 'owner', 'waiting', 0, 1, 3, 1, NULL, 4434322, 0, NULL, 1795466051314698, NULL, '-1000002000001:14', '["tg:123456:m:-1000002000001:14"]');
INSERT INTO turns VALUES ('01a20a1d-d18d-7e2b-b651-5d93a30bee99', '01a20a1d-d18d-736f-a45b-2b3a1a3bb3dd', 1, 'owner', 'waiting', 0, 1, 3, 1, NULL, 11073, 0, NULL, 1795466056077924, NULL, '-1000002000001:17', '["tg:123456:m:-1000002000001:17"]');
INSERT INTO turns VALUES ('01a20a1d-d1a1-7b21-8069-cf92bc796741', '01a20a1d-d1a1-73be-aa1c-6a68369d186a', 1, 'owner', 'waiting', 0, 1, 4, 1, NULL, 9221, 0, NULL, 1795466056097878, NULL, '-1000002000001:19', '["tg:123456:m:-1000002000001:19"]');
INSERT INTO turns VALUES ('01a20a1d-d1b1-73ee-859a-0ee45eaa2fb2', '01a20a1d-d1b1-74af-a02f-d39dd3321238', 1, 'owner', 'waiting', 0, 1, 3, 1, NULL, 5617, 0, NULL, 1795466056113468, NULL, '-1000002000001:21', '["tg:123456:m:-1000002000001:21"]');
INSERT INTO turns VALUES ('01a20a1d-d1bc-7577-94a6-b361a769af62', '01a20a1d-d1bc-784a-9f32-a8bea01b030e', 1, 'owner', 'waiting', 0, 1, 10, 1, NULL, 20047, 0, NULL, 1795466056124631, NULL, '-1000002000001:23', '["tg:123456:m:-1000002000001:23"]');
INSERT INTO turns VALUES ('01a20a1d-d1d6-730f-aeb2-e7efe3a217ec', '01a20a1d-d1d6-7ad1-a16b-8df53385a9ba', 1, '01a20a1d-9e7f-7a9c-ad74-d73f4319bd40', 'waiting', 0, 1, 3, 1, NULL, 8058, 0, NULL, 1795466056150174, NULL, NULL, '["tg:123456:m:8:10"]');
INSERT INTO turns VALUES ('01a20a1d-d1ef-799f-bc18-630124c01526', '01a20a1d-d1ef-7515-aca6-2cd6dca0f334', 1, 'owner', 'running', 1, 1, 3, 1, 1795466056191047, 9405, 0, NULL, 1795466056176007, NULL, '-1000002000001:25', '["tg:123456:m:-1000002000001:25"]');
INSERT INTO turns VALUES ('01a20a1d-d25e-72cb-8c93-b9151f7d336b', '01a20a1d-d25e-718c-8714-2131004b884f', 1, 'owner', 'running', 1, 1, 1, 1, 1795466056286635, 0, 0, NULL, 1795466056286635, NULL, '-1000002000001:27', '["tg:123456:m:-1000002000001:27"]');
INSERT INTO turns VALUES ('01a20a1d-d25f-7eda-80fe-109cfcae6eab', '01a20a1d-d25f-7833-8c21-2f101124fa92', 1, '01a20a1d-a0f4-7ee1-a54d-2da444ca94e2', 'done', 1, 1, 2, 1, NULL, 5604, 0, NULL, 1795466056287120, 1795466056292724, NULL, '["tg:123456:m:10:16"]');
INSERT INTO turns VALUES ('01a20a1d-d269-740f-b293-07b261ccefcf', '01a20a1d-d269-7d57-95cd-9c8e49be285e', 1, 'owner', 'running', 1, 1, 1, 1, 1795466056297257, 0, 0, NULL, 1795466056297257, NULL, '-1000002000001:28', '["tg:123456:m:-1000002000001:28"]');
INSERT INTO turns VALUES ('01a20a1d-d65a-79c6-a52d-eae8af2b3906', '01a20a1d-d65a-7bed-beff-2300a412fad8', 1, 'owner', 'waiting', 0, 1, 3, 1, NULL, 6684, 0, NULL, 1795466057306570, NULL, NULL, '["tg:123456:m:7:18"]');
INSERT INTO turns VALUES ('01a20a1d-d667-763b-9f2d-28a782334ef5', '01a20a1d-d667-72d8-9ee8-4ef9654c7581', 1, '01a20a1d-a373-7b12-88a2-02a3f82f08bf', 'done', 1, 1, 2, 1, NULL, 4428, 0, NULL, 1795466057320034, 1795466057324462, NULL, '["tg:123456:m:9:20"]');
DELETE FROM entries;
INSERT INTO entries VALUES ('01a20a1d-bae5-7c7a-95e2-e3e40d945b83', 1, '01a20a1d-bae5-73be-86f7-9b146adabc90', 1795466050278324, 'user', 'please run: echo granted >> granted.txt', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20a1d-bae5-7c7a-95e2-e3e40d945b83', 2, '01a20a1d-bae5-73be-86f7-9b146adabc90', 1795466050287028, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20a1d-bae5-7c7a-95e2-e3e40d945b83', 3, '01a20a1d-bae5-73be-86f7-9b146adabc90', 1795466050287028, 'call', '{"command":"echo granted >> granted.txt"}', '01a20a1d-baee-7d9f-bc9f-c046066b9d1d', 'shell', NULL);
INSERT INTO entries VALUES ('01a20a1d-bae5-7c7a-95e2-e3e40d945b83', 6, '01a20a1d-bae5-73be-86f7-9b146adabc90', 1795466050436810, 'result', '<tool_output name="shell" id="5abdeba3666825f380a94d2a">
exit code: 0

</tool_output id="5abdeba3666825f380a94d2a">', '01a20a1d-baee-7d9f-bc9f-c046066b9d1d', 'ok', NULL);
INSERT INTO entries VALUES ('01a20a1d-bae5-7c7a-95e2-e3e40d945b83', 7, '01a20a1d-bae5-73be-86f7-9b146adabc90', 1795466051302311, 'assistant', 'Done: <tool_output name="shell" id="5abdeba3666825f380a94d2a">
exit code: 0

</tool_output id="5abdeba3666825f380a94d2a">', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20a1d-bef2-7631-bf10-82cfd2fe47eb', 1, '01a20a1d-bef2-74f5-89fd-3e87b8eaaf4e', 1795466051315197, 'user', 'please run: echo unknown >> unknown.txt && sleep 600', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20a1d-bef2-7631-bf10-82cfd2fe47eb', 2, '01a20a1d-bef2-74f5-89fd-3e87b8eaaf4e', 1795466051320409, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20a1d-bef2-7631-bf10-82cfd2fe47eb', 3, '01a20a1d-bef2-74f5-89fd-3e87b8eaaf4e', 1795466051320409, 'call', '{"command":"echo unknown >> unknown.txt && sleep 600"}', '01a20a1d-bef8-7ac3-899e-500240c41a2a', 'shell', NULL);
INSERT INTO entries VALUES ('01a20a1d-d18d-736f-a45b-2b3a1a3bb3dd', 1, '01a20a1d-d18d-7e2b-b651-5d93a30bee99', 1795466056078124, 'user', 'please run: echo approved >> approved.txt', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20a1d-d18d-736f-a45b-2b3a1a3bb3dd', 2, '01a20a1d-d18d-7e2b-b651-5d93a30bee99', 1795466056085188, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20a1d-d18d-736f-a45b-2b3a1a3bb3dd', 3, '01a20a1d-d18d-7e2b-b651-5d93a30bee99', 1795466056085188, 'call', '{"command":"echo approved >> approved.txt"}', '01a20a1d-d194-7152-82aa-d3ae538d33b5', 'shell', NULL);
INSERT INTO entries VALUES ('01a20a1d-d1a1-73be-aa1c-6a68369d186a', 1, '01a20a1d-d1a1-7b21-8069-cf92bc796741', 1795466056097952, 'user', 'please run: echo one >> joint.txt
please run: echo two >> joint.txt', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20a1d-d1a1-73be-aa1c-6a68369d186a', 2, '01a20a1d-d1a1-7b21-8069-cf92bc796741', 1795466056102339, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20a1d-d1a1-73be-aa1c-6a68369d186a', 3, '01a20a1d-d1a1-7b21-8069-cf92bc796741', 1795466056102339, 'call', '{"command":"echo one >> joint.txt"}', '01a20a1d-d1a6-7239-879c-01bb7615a4fd', 'shell', NULL);
INSERT INTO entries VALUES ('01a20a1d-d1a1-73be-aa1c-6a68369d186a', 4, '01a20a1d-d1a1-7b21-8069-cf92bc796741', 1795466056102339, 'call', '{"command":"echo two >> joint.txt"}', '01a20a1d-d1a6-78ca-bdf8-9a3770735838', 'shell', NULL);
INSERT INTO entries VALUES ('01a20a1d-d1b1-74af-a02f-d39dd3321238', 1, '01a20a1d-d1b1-73ee-859a-0ee45eaa2fb2', 1795466056113511, 'user', 'please call: ask_user {"question": "Which color?", "choices": ["red", "dark green"]}', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20a1d-d1b1-74af-a02f-d39dd3321238', 2, '01a20a1d-d1b1-73ee-859a-0ee45eaa2fb2', 1795466056117195, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20a1d-d1b1-74af-a02f-d39dd3321238', 3, '01a20a1d-d1b1-73ee-859a-0ee45eaa2fb2', 1795466056117195, 'call', '{"question":"Which color?","choices":["red","dark green"]}', '01a20a1d-d1b4-7dbe-8fc8-fcc50c8a26e5', 'ask_user', NULL);
INSERT INTO entries VALUES ('01a20a1d-d1bc-784a-9f32-a8bea01b030e', 1, '01a20a1d-d1bc-7577-94a6-b361a769af62', 1795466056124699, 'user', 'count for ever', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20a1d-d1bc-784a-9f32-a8bea01b030e', 2, '01a20a1d-d1bc-7577-94a6-b361a769af62', 1795466056128940, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20a1d-d1bc-784a-9f32-a8bea01b030e', 3, '01a20a1d-d1bc-7577-94a6-b361a769af62', 1795466056128940, 'call', '{}', '01a20a1d-d1c0-7320-a407-49b26259320b', 'time', NULL);
INSERT INTO entries VALUES ('01a20a1d-d1bc-784a-9f32-a8bea01b030e', 4, '01a20a1d-d1bc-7577-94a6-b361a769af62', 1795466056131548, 'result', '<tool_output name="time" id="1275af6b32bbf1774bc1bd15">
Monday, 2026-11-23 20:34:16+00:00 (UTC)
</tool_output id="1275af6b32bbf1774bc1bd15">', '01a20a1d-d1c0-7320-a407-49b26259320b', 'ok', NULL);
INSERT INTO entries VALUES ('01a20a1d-d1bc-784a-9f32-a8bea01b030e', 5, '01a20a1d-d1bc-7577-94a6-b361a769af62', 1795466056135393, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20a1d-d1bc-784a-9f32-a8bea01b030e', 6, '01a20a1d-d1bc-7577-94a6-b361a769af62', 1795466056135393, 'call', '{}', '01a20a1d-d1c7-79d6-b45e-2e32fb089d9d', 'time', NULL);
INSERT INTO entries VALUES ('01a20a1d-d1bc-784a-9f32-a8bea01b030e', 7, '01a20a1d-d1bc-7577-94a6-b361a769af62', 1795466056137223, 'result', '<tool_output name="time" id="1275af6b32bbf1774bc1bd15">
Monday, 2026-11-23 20:34:16+00:00 (UTC)
</tool_output id="1275af6b32bbf1774bc1bd15">', '01a20a1d-d1c7-79d6-b45e-2e32fb089d9d', 'ok', NULL);
INSERT INTO entries VALUES ('01a20a1d-d1bc-784a-9f32-a8bea01b030e', 8, '01a20a1d-d1bc-7577-94a6-b361a769af62', 1795466056141425, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20a1d-d1bc-784a-9f32-a8bea01b030e', 9, '01a20a1d-d1bc-7577-94a6-b361a769af62', 1795466056141425, 'call', '{}', '01a20a1d-d1cd-7186-b411-20e8676a5fd5', 'time', NULL);
INSERT INTO entries VALUES ('01a20a1d-d1bc-784a-9f32-a8bea01b030e', 10, '01a20a1d-d1bc-7577-94a6-b361a769af62', 1795466056143467, 'result', '<tool_output name="time" id="1275af6b32bbf1774bc1bd15">
Monday, 2026-11-23 20:34:16+00:00 (UTC)
</tool_output id="1275af6b32bbf1774bc1bd15">', '01a20a1d-d1cd-7186-b411-20e8676a5fd5', 'ok', NULL);
INSERT INTO entries VALUES ('01a20a1d-d1d6-7ad1-a16b-8df53385a9ba', 1, '01a20a1d-d1d6-730f-aeb2-e7efe3a217ec', 1795466056150245, 'user', 'please call: write_file {"path": "quorum.txt", "content": "by two\n"}', NULL, NULL, NULL);
INSERT INTO entries VALUES ('01a20a1d-d1d6-7ad1-a16b-8df53385a9ba', 2, '01a20a1d-d1d6-730f-aeb2-e7efe3a217ec', 1795466056154692, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20a1d-d1d6-7ad1-a16b-8df53385a9ba', 3, '01a20a1d-d1d6-730f-aeb2-e7efe3a217ec', 1795466056154692, 'call', '{"path":"quorum.txt","content":"by two\n"}', '01a20a1d-d1da-7df4-913e-9260066f3f4e', 'write_file', NULL);
INSERT INTO entries VALUES ('01a20a1d-d1ef-7515-aca6-2cd6dca0f334', 1, '01a20a1d-d1ef-799f-bc18-630124c01526', 1795466056176067, 'user', 'please run: echo running >> running.txt && sleep 600', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20a1d-d1ef-7515-aca6-2cd6dca0f334', 2, '01a20a1d-d1ef-799f-bc18-630124c01526', 1795466056181942, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20a1d-d1ef-7515-aca6-2cd6dca0f334', 3, '01a20a1d-d1ef-799f-bc18-630124c01526', 1795466056181942, 'call', '{"command":"echo running >> running.txt && sleep 600"}', '01a20a1d-d1f5-7d90-95d2-ecac68e4ac42', 'shell', NULL);
INSERT INTO entries VALUES ('01a20a1d-d25e-718c-8714-2131004b884f', 1, '01a20a1d-d25e-72cb-8c93-b9151f7d336b', 1795466056286722, 'user', 'hold the turn', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20a1d-d25f-7833-8c21-2f101124fa92', 1, '01a20a1d-d25f-7eda-80fe-109cfcae6eab', 1795466056287214, 'user', 'say: Sent to Dan.', NULL, NULL, NULL);
INSERT INTO entries VALUES ('01a20a1d-d25f-7833-8c21-2f101124fa92', 2, '01a20a1d-d25f-7eda-80fe-109cfcae6eab', 1795466056292668, 'assistant', 'Sent to Dan.', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20a1d-d269-7d57-95cd-9c8e49be285e', 1, '01a20a1d-d269-740f-b293-07b261ccefcf', 1795466056297307, 'user', 'tell the story', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20a1d-d65a-7bed-beff-2300a412fad8', 1, '01a20a1d-d65a-79c6-a52d-eae8af2b3906', 1795466057306630, 'user', 'please call: tool_auth {"name": "shed", "purpose": "to open the shed"}', NULL, NULL, NULL);
INSERT INTO entries VALUES ('01a20a1d-d65a-7bed-beff-2300a412fad8', 2, '01a20a1d-d65a-79c6-a52d-eae8af2b3906', 1795466057311587, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20a1d-d65a-7bed-beff-2300a412fad8', 3, '01a20a1d-d65a-79c6-a52d-eae8af2b3906', 1795466057311587, 'call', '{"name":"shed","purpose":"to open the shed"}', '01a20a1d-d65f-7717-aecf-3499b138f132', 'tool_auth', NULL);
INSERT INTO entries VALUES ('01a20a1d-d667-72d8-9ee8-4ef9654c7581', 1, '01a20a1d-d667-763b-9f2d-28a782334ef5', 1795466057320091, 'user', 'say: Sent to Lea.', NULL, NULL, NULL);
INSERT INTO entries VALUES ('01a20a1d-d667-72d8-9ee8-4ef9654c7581', 2, '01a20a1d-d667-763b-9f2d-28a782334ef5', 1795466057324402, 'assistant', 'Sent to Lea.', NULL, NULL, '["openai","sim-1",""]');
DELETE FROM inbox;
INSERT INTO inbox VALUES (1, 'tg:123456:m:7:1', 'message', 'telegram', '7', '=7', 'owner', '7', 'Olivia', 1, '00000000000000000001', '/start', NULL, NULL, NULL, 'command: /start', NULL, 1795466050000000, 1795466050247827, 0, NULL, 0);
INSERT INTO inbox VALUES (2, 'tg:123456:m:8:3', 'message', 'telegram', '8', '=8', '01a20a1d-9e7f-7a9c-ad74-d73f4319bd40', '8', 'Ben', 1, '00000000000000000003', '/start', NULL, NULL, NULL, 'command: /start', NULL, 1795466050000000, 1795466050259178, 1, NULL, 0);
INSERT INTO inbox VALUES (3, 'tg:123456:m:9:5', 'message', 'telegram', '9', '=9', '01a20a1d-a373-7b12-88a2-02a3f82f08bf', '9', 'Lea', 1, '00000000000000000005', '/start', NULL, NULL, NULL, 'command: /start', NULL, 1795466050000000, 1795466050263480, 1, NULL, 0);
INSERT INTO inbox VALUES (4, 'tg:123456:m:10:7', 'message', 'telegram', '10', '=10', '01a20a1d-a0f4-7ee1-a54d-2da444ca94e2', '10', 'Dan', 1, '00000000000000000007', '/start', NULL, NULL, NULL, 'command: /start', NULL, 1795466050000000, 1795466050270851, 1, NULL, 0);
INSERT INTO inbox VALUES (5, 'tg:123456:m:-1000002000001:11', 'message', 'telegram', '-1000002000001:10', '=-1000002000001:10', 'owner', '7', 'Olivia', 0, '00000000000000000011', 'please run: echo granted >> granted.txt', '{"ref":"-1000002000001:11"}', '01a20a1d-bae5-7c7a-95e2-e3e40d945b83', '01a20a1d-bae5-73be-86f7-9b146adabc90', 'turn 1', NULL, 1795466050000000, 1795466050278437, 0, NULL, 0);
INSERT INTO inbox VALUES (6, 'tg:123456:cb:4382000000000000001', 'choice', 'telegram', '-1000002000001:10', NULL, 'owner', '7', 'Olivia', 0, '', '95h41vpat5:2', NULL, '01a20a1d-bae5-7c7a-95e2-e3e40d945b83', NULL, 'answer: 95h41vpat5', 'Always allowed by owner', 1795466050330276, 1795466050332638, 0, NULL, 0);
INSERT INTO inbox VALUES (7, 'tg:123456:m:-1000002000001:14', 'message', 'telegram', '-1000002000001:5', '=-1000002000001:5', 'owner', '7', 'Olivia', 0, '00000000000000000014', 'please run: echo unknown >> unknown.txt && sleep 600', '{"ref":"-1000002000001:14"}', '01a20a1d-bef2-7631-bf10-82cfd2fe47eb', '01a20a1d-bef2-74f5-89fd-3e87b8eaaf4e', 'turn 1', NULL, 1795466051000000, 1795466051315268, 0, NULL, 0);
INSERT INTO inbox VALUES (8, 'tg:123456:cb:4382000000000000002', 'choice', 'telegram', '-1000002000001:5', NULL, 'owner', '7', 'Olivia', 0, '', 'zra4brqs5k:0', NULL, '01a20a1d-bef2-7631-bf10-82cfd2fe47eb', NULL, 'answer: zra4brqs5k', 'Approved by owner', 1795466051326880, 1795466051327968, 0, NULL, 0);
INSERT INTO inbox VALUES (9, 'tg:123456:m:-1000002000001:17', 'message', 'telegram', '-1000002000001:2', '=-1000002000001:2', 'owner', '7', 'Olivia', 0, '00000000000000000017', 'please run: echo approved >> approved.txt', '{"ref":"-1000002000001:17"}', '01a20a1d-d18d-736f-a45b-2b3a1a3bb3dd', '01a20a1d-d18d-7e2b-b651-5d93a30bee99', 'turn 1', NULL, 1795466056000000, 1795466056078277, 0, NULL, 0);
INSERT INTO inbox VALUES (10, 'tg:123456:m:-1000002000001:19', 'message', 'telegram', '-1000002000001:3', '=-1000002000001:3', 'owner', '7', 'Olivia', 0, '00000000000000000019', 'please run: echo one >> joint.txt
please run: echo two >> joint.txt', '{"ref":"-1000002000001:19"}', '01a20a1d-d1a1-73be-aa1c-6a68369d186a', '01a20a1d-d1a1-7b21-8069-cf92bc796741', 'turn 1', NULL, 1795466056000000, 1795466056098051, 0, NULL, 0);
INSERT INTO inbox VALUES (11, 'tg:123456:m:-1000002000001:21', 'message', 'telegram', '-1000002000001:4', '=-1000002000001:4', 'owner', '7', 'Olivia', 0, '00000000000000000021', 'please call: ask_user {"question": "Which color?", "choices": ["red", "dark green"]}', '{"ref":"-1000002000001:21"}', '01a20a1d-d1b1-74af-a02f-d39dd3321238', '01a20a1d-d1b1-73ee-859a-0ee45eaa2fb2', 'turn 1', NULL, 1795466056000000, 1795466056113585, 0, NULL, 0);
INSERT INTO inbox VALUES (12, 'tg:123456:m:-1000002000001:23', 'message', 'telegram', '-1000002000001:6', '=-1000002000001:6', 'owner', '7', 'Olivia', 0, '00000000000000000023', 'count for ever', '{"ref":"-1000002000001:23"}', '01a20a1d-d1bc-784a-9f32-a8bea01b030e', '01a20a1d-d1bc-7577-94a6-b361a769af62', 'turn 1', NULL, 1795466056000000, 1795466056124795, 0, NULL, 0);
INSERT INTO inbox VALUES (13, 'tg:123456:m:8:10', 'message', 'telegram', '8', '=8', '01a20a1d-9e7f-7a9c-ad74-d73f4319bd40', '8', 'Ben', 1, '00000000000000000010', 'please call: write_file {"path": "quorum.txt", "content": "by two\n"}', NULL, '01a20a1d-d1d6-7ad1-a16b-8df53385a9ba', '01a20a1d-d1d6-730f-aeb2-e7efe3a217ec', 'turn 1', NULL, 1795466056000000, 1795466056150340, 1, NULL, 0);
INSERT INTO inbox VALUES (14, 'tg:123456:cb:4382000000000000003', 'choice', 'telegram', '9', NULL, '01a20a1d-a373-7b12-88a2-02a3f82f08bf', '9', 'Lea', 1, '', '2wjxqe3gf2:0', NULL, '01a20a1d-d1d6-7ad1-a16b-8df53385a9ba', NULL, 'answer: 2wjxqe3gf2', 'Counted. 1 more needed.', 1795466056166002, 1795466056168373, 0, NULL, 0);
INSERT INTO inbox VALUES (15, 'tg:123456:m:8:14', 'message', 'telegram', '8', '=8', '01a20a1d-9e7f-7a9c-ad74-d73f4319bd40', '8', 'Ben', 1, '00000000000000000014', 'and water the garden', NULL, '01a20a1d-d1d6-7ad1-a16b-8df53385a9ba', NULL, 'waiting', NULL, 1795466056000000, 1795466056175237, 1, NULL, 0);
INSERT INTO inbox VALUES (16, 'tg:123456:m:-1000002000001:25', 'message', 'telegram', '-1000002000001:7', '=-1000002000001:7', 'owner', '7', 'Olivia', 0, '00000000000000000025', 'please run: echo running >> running.txt && sleep 600', '{"ref":"-1000002000001:25"}', '01a20a1d-d1ef-7515-aca6-2cd6dca0f334', '01a20a1d-d1ef-799f-bc18-630124c01526', 'turn 1', NULL, 1795466056000000, 1795466056176158, 0, NULL, 0);
INSERT INTO inbox VALUES (17, 'tg:123456:cb:4382000000000000004', 'choice', 'telegram', '-1000002000001:7', NULL, 'owner', '7', 'Olivia', 0, '', 'gxcdgcdfbb:0', NULL, '01a20a1d-d1ef-7515-aca6-2cd6dca0f334', NULL, 'answer: gxcdgcdfbb', 'Approved by owner', 1795466056189618, 1795466056191207, 0, NULL, 0);
INSERT INTO inbox VALUES (18, 'tg:123456:m:-1000002000001:27', 'message', 'telegram', '-1000002000001:8', '=-1000002000001:8', 'owner', '7', 'Olivia', 0, '00000000000000000027', 'hold the turn', '{"ref":"-1000002000001:27"}', '01a20a1d-d25e-718c-8714-2131004b884f', '01a20a1d-d25e-72cb-8c93-b9151f7d336b', 'turn 1', NULL, 1795466056000000, 1795466056286816, 0, NULL, 0);
INSERT INTO inbox VALUES (19, 'tg:123456:m:10:16', 'message', 'telegram', '10', '=10', '01a20a1d-a0f4-7ee1-a54d-2da444ca94e2', '10', 'Dan', 1, '00000000000000000016', 'say: Sent to Dan.', NULL, '01a20a1d-d25f-7833-8c21-2f101124fa92', '01a20a1d-d25f-7eda-80fe-109cfcae6eab', 'turn 1', NULL, 1795466056000000, 1795466056287266, 1, NULL, 0);
INSERT INTO inbox VALUES (20, 'tg:123456:m:-1000002000001:28', 'message', 'telegram', '-1000002000001:9', '=-1000002000001:9', 'owner', '7', 'Olivia', 0, '00000000000000000028', 'tell the story', '{"ref":"-1000002000001:28"}', '01a20a1d-d269-7d57-95cd-9c8e49be285e', '01a20a1d-d269-740f-b293-07b261ccefcf', 'turn 1', NULL, 1795466056000000, 1795466056297365, 0, NULL, 0);
INSERT INTO inbox VALUES (21, 'tg:123456:m:7:18', 'message', 'telegram', '7', '=7', 'owner', '7', 'Olivia', 1, '00000000000000000018', 'please call: tool_auth {"name": "shed", "purpose": "to open the shed"}', NULL, '01a20a1d-d65a-7bed-beff-2300a412fad8', '01a20a1d-d65a-79c6-a52d-eae8af2b3906', 'turn 1', NULL, 1795466057000000, 1795466057306699, 0, NULL, 0);
INSERT INTO inbox VALUES (22, 'tg:123456:m:9:20', 'message', 'telegram', '9', '=9', '01a20a1d-a373-7b12-88a2-02a3f82f08bf', '9', 'Lea', 1, '00000000000000000020', 'say: Sent to Lea.', NULL, '01a20a1d-d667-72d8-9ee8-4ef9654c7581', '01a20a1d-d667-763b-9f2d-28a782334ef5', 'turn 1', NULL, 1795466057000000, 1795466057320172, 1, NULL, 0);
DELETE FROM feed;
INSERT INTO feed VALUES ('01a20a1d-bae5-7c7a-95e2-e3e40d945b83', 4, 1795466050325163, 'card', '01a20a1d-bae5-73be-86f7-9b146adabc90', NULL, NULL, '95h41vpat5');
INSERT INTO feed VALUES ('01a20a1d-bae5-7c7a-95e2-e3e40d945b83', 5, 1795466050332145, 'outcome', '01a20a1d-bae5-73be-86f7-9b146adabc90', NULL, NULL, '95h41vpat5');
INSERT INTO feed VALUES ('01a20a1d-bef2-7631-bf10-82cfd2fe47eb', 4, 1795466051323190, 'card', '01a20a1d-bef2-74f5-89fd-3e87b8eaaf4e', NULL, NULL, 'zra4brqs5k');
INSERT INTO feed VALUES ('01a20a1d-bef2-7631-bf10-82cfd2fe47eb', 5, 1795466051327742, 'outcome', '01a20a1d-bef2-74f5-89fd-3e87b8eaaf4e', NULL, NULL, 'zra4brqs5k');
INSERT INTO feed VALUES ('01a20a1d-bef2-7631-bf10-82cfd2fe47eb', 6, 1795466055754301, 'card', '01a20a1d-bef2-74f5-89fd-3e87b8eaaf4e', NULL, NULL, 'hkrjw2j2sh');
INSERT INTO feed VALUES ('01a20a1d-d18d-736f-a45b-2b3a1a3bb3dd', 4, 1795466056089161, 'card', '01a20a1d-d18d-7e2b-b651-5d93a30bee99', NULL, NULL, 'k09qetfq6r');
INSERT INTO feed VALUES ('01a20a1d-d1a1-73be-aa1c-6a68369d186a', 5, 1795466056107304, 'card', '01a20a1d-d1a1-7b21-8069-cf92bc796741', NULL, NULL, 'z7wn2bd56h');
INSERT INTO feed VALUES ('01a20a1d-d1b1-74af-a02f-d39dd3321238', 4, 1795466056119240, 'card', '01a20a1d-d1b1-73ee-859a-0ee45eaa2fb2', NULL, NULL, '3ca8bmjq82');
INSERT INTO feed VALUES ('01a20a1d-d1bc-784a-9f32-a8bea01b030e', 11, 1795466056144826, 'card', '01a20a1d-d1bc-7577-94a6-b361a769af62', NULL, NULL, 'gcsfpfazy9');
INSERT INTO feed VALUES ('01a20a1d-d1d6-7ad1-a16b-8df53385a9ba', 4, 1795466056158410, 'card', '01a20a1d-d1d6-730f-aeb2-e7efe3a217ec', NULL, NULL, '2wjxqe3gf2');
INSERT INTO feed VALUES ('01a20a1d-d1d6-7ad1-a16b-8df53385a9ba', 5, 1795466056175670, 'message', NULL, NULL, 19, NULL);
INSERT INTO feed VALUES ('01a20a1d-d1ef-7515-aca6-2cd6dca0f334', 4, 1795466056185534, 'card', '01a20a1d-d1ef-799f-bc18-630124c01526', NULL, NULL, 'gxcdgcdfbb');
INSERT INTO feed VALUES ('01a20a1d-d1ef-7515-aca6-2cd6dca0f334', 5, 1795466056190719, 'outcome', '01a20a1d-d1ef-799f-bc18-630124c01526', NULL, NULL, 'gxcdgcdfbb');
INSERT INTO feed VALUES ('01a20a1d-d65a-7bed-beff-2300a412fad8', 4, 1795466057313385, 'card', '01a20a1d-d65a-79c6-a52d-eae8af2b3906', NULL, NULL, '68s7typwtm');
DELETE FROM calls;
INSERT INTO calls VALUES ('01a20a1d-baee-7d9f-bc9f-c046066b9d1d', '01a20a1d-bae5-7c7a-95e2-e3e40d945b83', 3, '01a20a1d-bae5-73be-86f7-9b146adabc90', 'shell', 'effect', 'ended', 'ok', '98d22abbd77218c4c9ed703915d6f135c24a0904852b0356de3b1d6e4aae3fe2', '95h41vpat5', 'always', 'owner', 24275, 24275, 6485752, NULL, NULL, 1, 1795466050341422, 1795466050436362);
INSERT INTO calls VALUES ('01a20a1d-bef8-7ac3-899e-500240c41a2a', '01a20a1d-bef2-7631-bf10-82cfd2fe47eb', 3, '01a20a1d-bef2-74f5-89fd-3e87b8eaaf4e', 'shell', 'effect', 'unknown', NULL, '470f75b921273f6d613274d4581ec501762ebf5d70370e9207da0a1d38307b35', 'hkrjw2j2sh', NULL, NULL, 24277, 24277, 6485850, NULL, NULL, 1, 1795466051332597, NULL);
INSERT INTO calls VALUES ('01a20a1d-d194-7152-82aa-d3ae538d33b5', '01a20a1d-d18d-736f-a45b-2b3a1a3bb3dd', 3, '01a20a1d-d18d-7e2b-b651-5d93a30bee99', 'shell', 'effect', 'waiting', NULL, 'a2ee7233d4b152580aedcc79ef689e5109b6a2536edbda15e6d56a6a839cc075', 'k09qetfq6r', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO calls VALUES ('01a20a1d-d1a6-7239-879c-01bb7615a4fd', '01a20a1d-d1a1-73be-aa1c-6a68369d186a', 3, '01a20a1d-d1a1-7b21-8069-cf92bc796741', 'shell', 'effect', 'waiting', NULL, '2c9ffe79a46e8ceedba44b6998482420c4af0d2f79b3349858a756453af41f37', 'z7wn2bd56h', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO calls VALUES ('01a20a1d-d1a6-78ca-bdf8-9a3770735838', '01a20a1d-d1a1-73be-aa1c-6a68369d186a', 4, '01a20a1d-d1a1-7b21-8069-cf92bc796741', 'shell', 'effect', 'waiting', NULL, '59c435e6a614959c6853c4cd7327cceb96359e14bea1ab20efc730a3c60a57ef', 'z7wn2bd56h', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO calls VALUES ('01a20a1d-d1b4-7dbe-8fc8-fcc50c8a26e5', '01a20a1d-d1b1-74af-a02f-d39dd3321238', 3, '01a20a1d-d1b1-73ee-859a-0ee45eaa2fb2', 'ask_user', 'none', 'waiting', NULL, '', '3ca8bmjq82', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO calls VALUES ('01a20a1d-d1c0-7320-a407-49b26259320b', '01a20a1d-d1bc-784a-9f32-a8bea01b030e', 3, '01a20a1d-d1bc-7577-94a6-b361a769af62', 'time', 'none', 'ended', 'ok', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 1795466056130488, 1795466056131105);
INSERT INTO calls VALUES ('01a20a1d-d1c7-79d6-b45e-2e32fb089d9d', '01a20a1d-d1bc-784a-9f32-a8bea01b030e', 6, '01a20a1d-d1bc-7577-94a6-b361a769af62', 'time', 'none', 'ended', 'ok', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2, 1795466056136438, 1795466056136966);
INSERT INTO calls VALUES ('01a20a1d-d1cd-7186-b411-20e8676a5fd5', '01a20a1d-d1bc-784a-9f32-a8bea01b030e', 9, '01a20a1d-d1bc-7577-94a6-b361a769af62', 'time', 'none', 'ended', 'ok', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 3, 1795466056142587, 1795466056143153);
INSERT INTO calls VALUES ('01a20a1d-d1da-7df4-913e-9260066f3f4e', '01a20a1d-d1d6-7ad1-a16b-8df53385a9ba', 3, '01a20a1d-d1d6-730f-aeb2-e7efe3a217ec', 'write_file', 'effect', 'waiting', NULL, '80834308cb1b7e86ef223e71285cdb197a8c7cd56ccfb9cd2c926d0942352ad7.1ed50294a2c51b8f205647a90be1dff9fc2e9ec844a914d2ea9c854fe39f7f7d', '2wjxqe3gf2', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO calls VALUES ('01a20a1d-d1f5-7d90-95d2-ecac68e4ac42', '01a20a1d-d1ef-7515-aca6-2cd6dca0f334', 3, '01a20a1d-d1ef-799f-bc18-630124c01526', 'shell', 'effect', 'running', NULL, 'a6f6b91ebaaeab3770e4a5ce1e71f670dafa66c8af126a4d8993bed77dcc9b92', 'gxcdgcdfbb', 'approve', 'owner', 24300, 24300, 6486336, NULL, NULL, 1, 1795466056199431, NULL);
INSERT INTO calls VALUES ('01a20a1d-d65f-7717-aecf-3499b138f132', '01a20a1d-d65a-7bed-beff-2300a412fad8', 3, '01a20a1d-d65a-79c6-a52d-eae8af2b3906', 'tool_auth', 'none', 'waiting', NULL, '', '68s7typwtm', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
DELETE FROM gates;
INSERT INTO gates VALUES ('2wjxqe3gf2', 'approval', 'open', '01a20a1d-d1d6-7ad1-a16b-8df53385a9ba', '01a20a1d-d1d6-730f-aeb2-e7efe3a217ec', '01a20a1d-d1da-7df4-913e-9260066f3f4e', '01a20a1d-9e7f-7a9c-ad74-d73f4319bd40', 'May I run write_file?
There is no grant for this call of write_file.', 'path: quorum.txt
content: by two
    ', 'approve deny', '["owner","01a20a1d-a373-7b12-88a2-02a3f82f08bf"]', 2, 0, '80834308cb1b7e86ef223e71285cdb197a8c7cd56ccfb9cd2c926d0942352ad7.1ed50294a2c51b8f205647a90be1dff9fc2e9ec844a914d2ea9c854fe39f7f7d', 'write_file', 'quorum.txt', 1795466056156682, 1795552456156682, NULL, NULL, NULL, NULL, NULL, 0, 1795548856156682, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO gates VALUES ('3ca8bmjq82', 'question', 'open', '01a20a1d-d1b1-74af-a02f-d39dd3321238', '01a20a1d-d1b1-73ee-859a-0ee45eaa2fb2', '01a20a1d-d1b4-7dbe-8fc8-fcc50c8a26e5', 'owner', 'Which color?', '', '', '["owner"]', 1, 0, '', 'ask_user', NULL, 1795466056118773, 1795552456118773, NULL, NULL, NULL, NULL, '["red","dark green"]', 0, 1795548856118773, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO gates VALUES ('68s7typwtm', 'question', 'open', '01a20a1d-d65a-7bed-beff-2300a412fad8', '01a20a1d-d65a-79c6-a52d-eae8af2b3906', '01a20a1d-d65f-7717-aecf-3499b138f132', 'owner', 'Please send me the credential “shed”: to open the shed', '', '', '["owner"]', 1, 0, '', 'tool_auth', NULL, 1795466057312986, 1795552457312986, NULL, NULL, NULL, NULL, '["Cancel"]', 1, 1795548857312986, '[]', NULL, 0, NULL, 'shed', 0, NULL, 1);
INSERT INTO gates VALUES ('95h41vpat5', 'approval', 'closed', '01a20a1d-bae5-7c7a-95e2-e3e40d945b83', '01a20a1d-bae5-73be-86f7-9b146adabc90', '01a20a1d-baee-7d9f-bc9f-c046066b9d1d', 'owner', 'May I run shell?
There is no grant for this call of shell.', 'command: echo granted >> granted.txt
timeout_s: 30', 'approve deny always', '[]', 1, 0, '98d22abbd77218c4c9ed703915d6f135c24a0904852b0356de3b1d6e4aae3fe2', 'shell', '>> granted.txt echo granted', 1795466050324255, 1795552450324255, 'always', 'Always allowed by owner', 'owner', 1795466050332020, NULL, 0, 1795548850324255, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO gates VALUES ('gcsfpfazy9', 'continue', 'open', '01a20a1d-d1bc-784a-9f32-a8bea01b030e', '01a20a1d-d1bc-7577-94a6-b361a769af62', NULL, 'owner', 'I have used 3 rounds of tool calls on this. Shall I continue?', '', 'continue stop', '[]', 1, 0, '', NULL, NULL, 1795466056144364, 1795552456144364, NULL, NULL, NULL, NULL, NULL, 0, 1795548856144364, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO gates VALUES ('gxcdgcdfbb', 'approval', 'closed', '01a20a1d-d1ef-7515-aca6-2cd6dca0f334', '01a20a1d-d1ef-799f-bc18-630124c01526', '01a20a1d-d1f5-7d90-95d2-ecac68e4ac42', 'owner', 'May I run shell?
There is no grant for this call of shell.', 'command: echo running >> running.txt && sleep 600
timeout_s: 30', 'approve deny always', '[]', 1, 0, 'a6f6b91ebaaeab3770e4a5ce1e71f670dafa66c8af126a4d8993bed77dcc9b92', 'shell', '>> running.txt echo running
@sleep', 1795466056184988, 1795552456184988, 'approve', 'Approved by owner', 'owner', 1795466056190562, NULL, 0, 1795548856184988, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO gates VALUES ('hkrjw2j2sh', 'unknown_outcome', 'open', '01a20a1d-bef2-7631-bf10-82cfd2fe47eb', '01a20a1d-bef2-74f5-89fd-3e87b8eaaf4e', '01a20a1d-bef8-7ac3-899e-500240c41a2a', 'owner', 'I was interrupted while running shell and don''t know whether it took effect.', 'command: echo unknown >> unknown.txt && sleep 600
timeout_s: 30', 'happened retry skip', '[]', 1, 0, '470f75b921273f6d613274d4581ec501762ebf5d70370e9207da0a1d38307b35', 'shell', NULL, 1795466055753335, 1798058055753335, NULL, NULL, NULL, NULL, NULL, 0, 1798054455753335, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO gates VALUES ('k09qetfq6r', 'approval', 'open', '01a20a1d-d18d-736f-a45b-2b3a1a3bb3dd', '01a20a1d-d18d-7e2b-b651-5d93a30bee99', '01a20a1d-d194-7152-82aa-d3ae538d33b5', 'owner', 'May I run shell?
There is no grant for this call of shell.', 'command: echo approved >> approved.txt
timeout_s: 30', 'approve deny always', '[]', 1, 0, 'a2ee7233d4b152580aedcc79ef689e5109b6a2536edbda15e6d56a6a839cc075', 'shell', '>> approved.txt echo approved', 1795466056088484, 1795552456088484, NULL, NULL, NULL, NULL, NULL, 0, 1795548856088484, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO gates VALUES ('z7wn2bd56h', 'approval', 'open', '01a20a1d-d1a1-73be-aa1c-6a68369d186a', '01a20a1d-d1a1-7b21-8069-cf92bc796741', NULL, 'owner', 'May I run these 2 calls?', '', 'approve deny one_by_one', '[]', 1, 0, '525988cb7314c3fe67090a3d31abb990ef2643484bf04136facc5c1ad7f1295e', NULL, NULL, 1795466056106489, 1795552456106489, NULL, NULL, NULL, NULL, NULL, 0, 1795548856106489, '[]', NULL, 0, '[["01a20a1d-d1a6-7239-879c-01bb7615a4fd", "shell", "There is no grant for this call of shell.", "command: echo one >> joint.txt\ntimeout_s: 30", "2c9ffe79a46e8ceedba44b6998482420c4af0d2f79b3349858a756453af41f37"], ["01a20a1d-d1a6-78ca-bdf8-9a3770735838", "shell", "There is no grant for this call of shell.", "command: echo two >> joint.txt\ntimeout_s: 30", "59c435e6a614959c6853c4cd7327cceb96359e14bea1ab20efc730a3c60a57ef"]]', NULL, 0, NULL, 0);
INSERT INTO gates VALUES ('zra4brqs5k', 'approval', 'closed', '01a20a1d-bef2-7631-bf10-82cfd2fe47eb', '01a20a1d-bef2-74f5-89fd-3e87b8eaaf4e', '01a20a1d-bef8-7ac3-899e-500240c41a2a', 'owner', 'May I run shell?
There is no grant for this call of shell.', 'command: echo unknown >> unknown.txt && sleep 600
timeout_s: 30', 'approve deny always', '[]', 1, 0, '470f75b921273f6d613274d4581ec501762ebf5d70370e9207da0a1d38307b35', 'shell', '>> unknown.txt echo unknown
@sleep', 1795466051322810, 1795552451322810, 'approve', 'Approved by owner', 'owner', 1795466051327699, NULL, 0, 1795548851322810, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
DELETE FROM votes;
INSERT INTO votes VALUES ('2wjxqe3gf2', '01a20a1d-a373-7b12-88a2-02a3f82f08bf', 'Lea', 'approve', 1795466056168066);
INSERT INTO votes VALUES ('95h41vpat5', 'owner', 'owner', 'always', 1795466050331873);
INSERT INTO votes VALUES ('gxcdgcdfbb', 'owner', 'owner', 'approve', 1795466056190413);
INSERT INTO votes VALUES ('zra4brqs5k', 'owner', 'owner', 'approve', 1795466051327601);
DELETE FROM grants;
INSERT INTO grants VALUES ('01a20a1d-bb1b-7d1b-a7fb-4e8f707dfacf', 'owner', 'shell', '>> granted.txt echo granted', 'user', NULL, 'owner', 1795466050330452, NULL);
DELETE FROM tool_settings;
DELETE FROM tool_uses;
INSERT INTO tool_uses VALUES (1, 'owner', 'shell', 1795466050341313);
INSERT INTO tool_uses VALUES (2, 'owner', 'shell', 1795466051332561);
INSERT INTO tool_uses VALUES (3, 'owner', 'shell', 1795466055986188);
INSERT INTO tool_uses VALUES (4, 'owner', 'shell', 1795466056199372);
DELETE FROM tool_pause;
DELETE FROM secrets;
INSERT INTO secrets VALUES ('garden', '2aa5c3f8eae5fd7a', X'890D55039EE19C4266763091D05060A0F6FE08D12845AB2EA3D0388A979A039F8FCB7B742FA3C362C60241989209F222D6', 1795466045468352);
DELETE FROM outbox;
INSERT INTO outbox VALUES (1, 'telegram', '7', '{"blocks":[["plain","Hello. Send me a message and I will answer. If an action needs your approval, I show buttons first. Type /help for the commands."]]}', 'sent', 1, '01a20a1d-bac7-7601-95a4-4d28a978514e', '["7:2"]', '00000000000000000002', NULL, NULL, NULL, NULL, 1, 0, 1, 0, NULL, 1795466050247931, 1795466050258804, 1795466050247931, NULL, 1, NULL);
INSERT INTO outbox VALUES (2, 'telegram', '8', '{"blocks":[["plain","Hello. Send me a message and I will answer. If an action needs your approval, I show buttons first. Type /help for the commands."]]}', 'sent', 1, '01a20a1d-bad3-7103-8c16-9b60828165f8', '["8:4"]', '00000000000000000004', NULL, NULL, NULL, NULL, 2, 0, 1, 0, NULL, 1795466050259217, 1795466050263137, 1795466050259217, NULL, 2, NULL);
INSERT INTO outbox VALUES (3, 'telegram', '9', '{"blocks":[["plain","Hello. Send me a message and I will answer. If an action needs your approval, I show buttons first. Type /help for the commands."]]}', 'sent', 1, '01a20a1d-bad7-70c5-8fb2-3edf5b4dac0d', '["9:6"]', '00000000000000000006', NULL, NULL, NULL, NULL, 3, 0, 1, 0, NULL, 1795466050263885, 1795466050270172, 1795466050263885, NULL, 3, NULL);
INSERT INTO outbox VALUES (4, 'telegram', '10', '{"blocks":[["plain","Hello. Send me a message and I will answer. If an action needs your approval, I show buttons first. Type /help for the commands."]]}', 'sent', 1, '01a20a1d-bade-7c53-a8db-70c97b1c2dae', '["10:8"]', '00000000000000000008', NULL, NULL, NULL, NULL, 4, 0, 1, 0, NULL, 1795466050270923, 1795466050277248, 1795466050270923, NULL, 4, NULL);
INSERT INTO outbox VALUES (5, 'telegram', '-1000002000001:10', '{"blocks":[["plain","May I run shell?\nThere is no grant for this call of shell."],["code","command: echo granted >> granted.txt\ntimeout_s: 30",""],["plain","Always allow would cover shell: >> granted.txt echo granted\nor type /approve 95h41vpat5 or /deny 95h41vpat5"]],"choices":["Approve","Deny","Always allow"],"gate_id":"95h41vpat5","reply_to":"-1000002000001:11","editable":true}', 'sent', 1, '01a20a1d-bb14-759f-92ed-23b81f97b9a2', '["-1000002000001:12"]', '00000000000000000012', NULL, NULL, '95h41vpat5', '01a20a1d-bae5-73be-86f7-9b146adabc90', NULL, 0, 1, 0, NULL, 1795466050325590, 1795466050330768, 1795466050327119, NULL, 5, NULL);
INSERT INTO outbox VALUES (6, 'telegram', '-1000002000001:10', '{"blocks":[["plain","May I run shell?\nThere is no grant for this call of shell."],["code","command: echo granted >> granted.txt\ntimeout_s: 30",""]],"gate_id":"95h41vpat5","outcome":"Always allowed by owner"}', 'sent', 1, '01a20a1d-bb1c-7c96-a1cb-76fc27357bde', '[]', NULL, 5, NULL, '95h41vpat5', NULL, NULL, 0, 1, 0, NULL, 1795466050332328, 1795466051302040, 1795466050333790, NULL, 6, NULL);
INSERT INTO outbox VALUES (7, 'telegram', '-1000002000001:10', '{"blocks":[["markdown","Done: <tool_output name=\"shell\" id=\"5abdeba3666825f380a94d2a\">\nexit code: 0\n\n</tool_output id=\"5abdeba3666825f380a94d2a\">"]],"reply_to":"-1000002000001:11"}', 'sent', 1, '01a20a1d-bee5-78df-9fb1-6f55630ea02b', '["-1000002000001:13"]', '00000000000000000013', NULL, NULL, NULL, '01a20a1d-bae5-73be-86f7-9b146adabc90', NULL, 0, 1, 0, NULL, 1795466051302470, 1795466051308336, 1795466051304144, NULL, 6, NULL);
INSERT INTO outbox VALUES (8, 'telegram', '7', '{"blocks":[["plain","🔔 Routine “watch” has something for you"],["markdown","The tap drips.\n\n# Trigger of this run\nA person asked for this run."]],"choices":["Details","Pause","Run again"],"gate_id":"bnf0664vgx"}', 'sent', 1, '01a20a1d-beed-79db-8f2d-179072975fdd', '["7:9"]', '00000000000000000009', NULL, NULL, NULL, NULL, NULL, 0, 1, 0, NULL, 1795466051309838, 1795466051314109, 1795466051310715, NULL, 6, NULL);
INSERT INTO outbox VALUES (9, 'telegram', '-1000002000001:5', '{"blocks":[["plain","May I run shell?\nThere is no grant for this call of shell."],["code","command: echo unknown >> unknown.txt && sleep 600\ntimeout_s: 30",""],["plain","Always allow would cover shell: >> unknown.txt echo unknown; sleep with the options listed as safe\nor type /approve zra4brqs5k or /deny zra4brqs5k"]],"choices":["Approve","Deny","Always allow"],"gate_id":"zra4brqs5k","reply_to":"-1000002000001:14","editable":true}', 'sent', 1, '01a20a1d-befa-7ae7-b43a-a82e00770255', '["-1000002000001:15"]', '00000000000000000015', NULL, NULL, 'zra4brqs5k', '01a20a1d-bef2-74f5-89fd-3e87b8eaaf4e', NULL, 0, 1, 0, NULL, 1795466051323387, 1795466051327173, 1795466051324277, NULL, 7, NULL);
INSERT INTO outbox VALUES (10, 'telegram', '-1000002000001:5', '{"blocks":[["plain","May I run shell?\nThere is no grant for this call of shell."],["code","command: echo unknown >> unknown.txt && sleep 600\ntimeout_s: 30",""]],"gate_id":"zra4brqs5k","outcome":"Approved by owner"}', 'sent', 1, '01a20a1d-beff-7e5a-ac3a-22627b73699c', '[]', NULL, 9, NULL, 'zra4brqs5k', NULL, NULL, 0, 1, 0, NULL, 1795466051327846, 1795466051334775, 1795466051330457, NULL, 8, NULL);
INSERT INTO outbox VALUES (11, 'telegram', '-1000002000001:5', '{"blocks":[["plain","I was interrupted while running shell and don''t know whether it took effect."],["code","command: echo unknown >> unknown.txt && sleep 600\ntimeout_s: 30",""]],"choices":["It happened","Run it again","Skip"],"gate_id":"hkrjw2j2sh","reply_to":"-1000002000001:14"}', 'sent', 1, '01a20a1d-d049-7cbf-bd18-597272a3be0f', '["-1000002000001:16"]', '00000000000000000016', NULL, NULL, 'hkrjw2j2sh', '01a20a1d-bef2-74f5-89fd-3e87b8eaaf4e', NULL, 0, 1, 0, NULL, 1795466055755358, 1795466055899070, 1795466055883958, NULL, 8, NULL);
INSERT INTO outbox VALUES (12, 'telegram', '-1000002000001:2', '{"blocks":[["plain","May I run shell?\nThere is no grant for this call of shell."],["code","command: echo approved >> approved.txt\ntimeout_s: 30",""],["plain","Always allow would cover shell: >> approved.txt echo approved\nor type /approve k09qetfq6r or /deny k09qetfq6r"]],"choices":["Approve","Deny","Always allow"],"gate_id":"k09qetfq6r","reply_to":"-1000002000001:17","editable":true}', 'sent', 1, '01a20a1d-d198-781e-b4b7-71ac570b0444', '["-1000002000001:18"]', '00000000000000000018', NULL, NULL, 'k09qetfq6r', '01a20a1d-d18d-7e2b-b651-5d93a30bee99', NULL, 0, 1, 0, NULL, 1795466056089589, 1795466056097349, 1795466056091386, NULL, 9, NULL);
INSERT INTO outbox VALUES (13, 'telegram', '-1000002000001:3', '{"blocks":[["plain","May I run these 2 calls?"],["plain","1. shell: There is no grant for this call of shell."],["code","command: echo one >> joint.txt\ntimeout_s: 30",""],["plain","2. shell: There is no grant for this call of shell."],["code","command: echo two >> joint.txt\ntimeout_s: 30",""],["plain","or type /approve z7wn2bd56h or /deny z7wn2bd56h"]],"choices":["Approve all","Deny all","One by one"],"gate_id":"z7wn2bd56h","reply_to":"-1000002000001:19"}', 'sent', 1, '01a20a1d-d1aa-71c6-933c-592fc11af5c0', '["-1000002000001:20"]', '00000000000000000020', NULL, NULL, 'z7wn2bd56h', '01a20a1d-d1a1-7b21-8069-cf92bc796741', NULL, 0, 1, 0, NULL, 1795466056107628, 1795466056113098, 1795466056109189, NULL, 10, NULL);
INSERT INTO outbox VALUES (14, 'telegram', '-1000002000001:4', '{"blocks":[["plain","Which color?"]],"choices":["red","dark green"],"gate_id":"3ca8bmjq82","reply_to":"-1000002000001:21"}', 'sent', 1, '01a20a1d-d1b6-70e6-a7b2-041f530e7d99', '["-1000002000001:22"]', '00000000000000000022', NULL, NULL, '3ca8bmjq82', '01a20a1d-d1b1-73ee-859a-0ee45eaa2fb2', NULL, 0, 1, 0, NULL, 1795466056119515, 1795466056124055, 1795466056120608, NULL, 11, NULL);
INSERT INTO outbox VALUES (15, 'telegram', '-1000002000001:6', '{"blocks":[["plain","I have used 3 rounds of tool calls on this. Shall I continue?"]],"choices":["Continue","Stop"],"gate_id":"gcsfpfazy9","reply_to":"-1000002000001:23"}', 'sent', 1, '01a20a1d-d1d0-7c13-9606-1f4e4cdaf149', '["-1000002000001:24"]', '00000000000000000024', NULL, NULL, 'gcsfpfazy9', '01a20a1d-d1bc-7577-94a6-b361a769af62', NULL, 0, 1, 0, NULL, 1795466056145052, 1795466056149584, 1795466056146408, NULL, 12, NULL);
INSERT INTO outbox VALUES (16, 'telegram', '8', '{"blocks":[["plain","May I run write_file?\nThere is no grant for this call of write_file."],["code","path: quorum.txt\ncontent: by two\n    ",""],["plain","2 people must approve.\nor type /approve 2wjxqe3gf2 or /deny 2wjxqe3gf2"]],"choices":["Approve","Deny"],"gate_id":"2wjxqe3gf2","editable":true}', 'sent', 1, '01a20a1d-d1de-70e6-a7f6-13aa80cc9344', '["8:11"]', '00000000000000000011', NULL, NULL, '2wjxqe3gf2', '01a20a1d-d1d6-730f-aeb2-e7efe3a217ec', NULL, 0, 1, 0, NULL, 1795466056158735, 1795466056166620, 1795466056160247, NULL, 13, NULL);
INSERT INTO outbox VALUES (17, 'telegram', '7', '{"blocks":[["plain","May I run write_file?\nThere is no grant for this call of write_file."],["code","path: quorum.txt\ncontent: by two\n    ",""],["plain","2 people must approve.\nor type /approve 2wjxqe3gf2 or /deny 2wjxqe3gf2"]],"choices":["Approve","Deny"],"gate_id":"2wjxqe3gf2","editable":true}', 'sent', 1, '01a20a1d-d1dd-71c5-ae44-bab77c36382b', '["7:12"]', '00000000000000000012', NULL, NULL, '2wjxqe3gf2', '01a20a1d-d1d6-730f-aeb2-e7efe3a217ec', NULL, 0, 1, 0, NULL, 1795466056158735, 1795466056166775, 1795466056160371, NULL, 13, NULL);
INSERT INTO outbox VALUES (18, 'telegram', '9', '{"blocks":[["plain","May I run write_file?\nThere is no grant for this call of write_file."],["code","path: quorum.txt\ncontent: by two\n    ",""],["plain","2 people must approve.\nor type /approve 2wjxqe3gf2 or /deny 2wjxqe3gf2"]],"choices":["Approve","Deny"],"gate_id":"2wjxqe3gf2","editable":true}', 'sent', 1, '01a20a1d-d1dd-7e00-95d1-1e96efd5a7a4', '["9:13"]', '00000000000000000013', NULL, NULL, '2wjxqe3gf2', '01a20a1d-d1d6-730f-aeb2-e7efe3a217ec', NULL, 0, 1, 0, NULL, 1795466056158735, 1795466056166859, 1795466056160465, NULL, 13, NULL);
INSERT INTO outbox VALUES (19, 'telegram', '8', '{"blocks":[["plain","Your message is queued. I am waiting for a decision on: May I run write_file?\nThere is no grant for this call of write_file.\nUse the buttons, or type /approve 2wjxqe3gf2 or /deny 2wjxqe3gf2. To cancel, type /stop."]]}', 'sent', 1, '01a20a1d-d1ef-743a-9384-4697e3795d20', '["8:15"]', '00000000000000000015', NULL, NULL, NULL, NULL, 15, 0, 1, 0, NULL, 1795466056175334, 1795466056182209, 1795466056175334, NULL, 15, NULL);
INSERT INTO outbox VALUES (20, 'telegram', '-1000002000001:7', '{"blocks":[["plain","May I run shell?\nThere is no grant for this call of shell."],["code","command: echo running >> running.txt && sleep 600\ntimeout_s: 30",""],["plain","Always allow would cover shell: >> running.txt echo running; sleep with the options listed as safe\nor type /approve gxcdgcdfbb or /deny gxcdgcdfbb"]],"choices":["Approve","Deny","Always allow"],"gate_id":"gxcdgcdfbb","reply_to":"-1000002000001:25","editable":true}', 'sent', 1, '01a20a1d-d1f9-7da6-aeb7-9171b64a9497', '["-1000002000001:26"]', '00000000000000000026', NULL, NULL, 'gxcdgcdfbb', '01a20a1d-d1ef-799f-bc18-630124c01526', NULL, 0, 1, 0, NULL, 1795466056185755, 1795466056189993, 1795466056186947, NULL, 16, NULL);
INSERT INTO outbox VALUES (21, 'telegram', '-1000002000001:7', '{"blocks":[["plain","May I run shell?\nThere is no grant for this call of shell."],["code","command: echo running >> running.txt && sleep 600\ntimeout_s: 30",""]],"gate_id":"gxcdgcdfbb","outcome":"Approved by owner"}', 'sent', 1, '01a20a1d-d1fe-7789-ae27-9055bd6ebe6a', '[]', NULL, 20, NULL, 'gxcdgcdfbb', NULL, NULL, 0, 1, 0, NULL, 1795466056190896, 1795466056202787, 1795466056193773, NULL, 17, NULL);
INSERT INTO outbox VALUES (22, 'telegram', '10', '{"blocks":[["markdown","Sent to Dan."]]}', 'sending', 0, '01a20a1d-d264-70f6-b89e-20439eee36d4', '[]', NULL, NULL, NULL, NULL, '01a20a1d-d25f-7eda-80fe-109cfcae6eab', NULL, 0, 1, 0, NULL, 1795466056292826, NULL, 1795466056292826, NULL, 19, NULL);
INSERT INTO outbox VALUES (23, 'telegram', '-1000002000001:9', '{"blocks":[],"reply_to":"-1000002000001:28"}', 'streaming', 0, '01a20a1d-d652-7e05-b3ce-9d82f8f37349', '["-1000002000001:29"]', '00000000000000000029', NULL, NULL, NULL, '01a20a1d-d269-740f-b293-07b261ccefcf', NULL, 0, 1, 0, NULL, 1795466057298984, 1795466057302123, 1795466057298984, NULL, 20, NULL);
INSERT INTO outbox VALUES (24, 'telegram', '7', '{"blocks":[["plain","Please send me the credential “shed”: to open the shed"],["plain","Send the credential as your next message, within five minutes. It goes into the vault; the model and the logs don''t see it."]],"choices":["Cancel"],"gate_id":"68s7typwtm"}', 'sent', 1, '01a20a1d-d661-7480-abc1-e9b32e4fa390', '["7:19"]', '00000000000000000019', NULL, NULL, '68s7typwtm', '01a20a1d-d65a-79c6-a52d-eae8af2b3906', NULL, 0, 1, 0, NULL, 1795466057313602, 1795466057319640, 1795466057314656, NULL, 21, NULL);
INSERT INTO outbox VALUES (25, 'telegram', '9', '{"blocks":[["markdown","Sent to Lea."]]}', 'ambiguous', 0, '01a20a1d-d66c-7cfd-8ddf-4ea058a5ef87', '[]', NULL, NULL, NULL, NULL, '01a20a1d-d667-763b-9f2d-28a782334ef5', NULL, 0, 1, 0, 'no response from Telegram (ServerDisconnectedError)', 1795466057324510, NULL, 1795466057324510, 1795466057325503, 22, NULL);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES ('outbox', 25);
DELETE FROM notices;
INSERT INTO notices VALUES ('routine:01a20a1d-be73-7172-a24f-9072773be615', 8, '[]', 1795466051309953);
DELETE FROM outbound_judged;
DELETE FROM routines;
INSERT INTO routines VALUES ('01a20a1d-ac6e-745e-a07b-ad6a2d562d71', 'owner', 'watch', 'manual', '{"name": "watch", "trigger": {"type": "manual"}, "action": {"type": "lightweight", "prompt": "say: The tap drips."}}', 1, NULL, NULL, NULL, 300000000, 1, 0, 0, NULL, 0, 1795466051187489, 1795466051304845, 1, 0, 0, '', '2158b1bdd10e3ffb981628b714320683cc191768eb7743fa7dd5e1ec5ed4d945', 1, 1795466046576533, 1795466046576533, NULL, NULL, NULL, NULL, NULL);
INSERT INTO routines VALUES ('01a20a1d-b14d-7ad0-9b75-9be7ec0c4bf5', 'owner', 'nightly', 'manual', '{"name": "nightly", "trigger": {"type": "manual"}, "action": {"type": "lightweight", "prompt": "hold the routine"}}', 1, NULL, NULL, NULL, 300000000, 1, 0, 0, NULL, 0, 1795466052805541, NULL, 0, 0, 0, '', NULL, 1, 1795466047823023, 1795466047823023, NULL, NULL, NULL, NULL, NULL);
INSERT INTO routines VALUES ('01a20a1d-b5e5-798a-86f0-791d4432e81c', 'owner', 'tending', 'manual', '{"name": "tending", "trigger": {"type": "manual"}, "action": {"type": "lightweight", "prompt": "please run: echo tending >> tending.txt && sleep 600", "use_tools": true, "allowed_tools": ["shell"], "grants": ["shell *"]}, "guardrails": {"rerun_interrupted": true}}', 1, NULL, NULL, NULL, 300000000, 1, 0, 1, NULL, 0, 1795466054044843, NULL, 0, 0, 0, '', NULL, 1, 1795466049000321, 1795466049000321, NULL, NULL, NULL, NULL, NULL);
DELETE FROM routine_runs;
INSERT INTO routine_runs VALUES ('01a20a1d-be73-7172-a24f-9072773be615', '01a20a1d-ac6e-745e-a07b-ad6a2d562d71', 'manual:01a20a1d-be72-707b-a29e-54f7529131c1', 'manual', '{"by": "manual", "request_id": "01a20a1d-be72-707b-a29e-54f7529131c1", "user_id": "owner"}', NULL, 'attention', 1795466051187248, 1795466051187248, 1, NULL, 1795466051191339, 1795466051304845, 'The tap drips.

# Trigger of this run
A person asked for this run.', NULL, 180, 17, '🔔 Routine “watch” has something for you

The tap drips.

# Trigger of this run
A person asked for this run.', 'sent', 1795466051310797, 'bnf0664vgx', 1795466051187491, 0, NULL, NULL);
INSERT INTO routine_runs VALUES ('01a20a1d-c4bd-73e7-bf9e-a1d4bd2d496d', '01a20a1d-b14d-7ad0-9b75-9be7ec0c4bf5', 'manual:01a20a1d-c4bb-7def-9f55-a2fe83fae8ea', 'manual', '{"by": "manual", "request_id": "01a20a1d-c4bb-7def-9f55-a2fe83fae8ea", "user_id": "owner"}', NULL, 'running', 1795466052797610, 1795466052797610, 1, 1795466145911261, 1795466055913143, NULL, NULL, NULL, 0, 0, NULL, 'none', NULL, NULL, 1795466052805542, 0, NULL, NULL);
INSERT INTO routine_runs VALUES ('01a20a1d-c994-764f-bbbc-4f23f50e4b4b', '01a20a1d-b5e5-798a-86f0-791d4432e81c', 'manual:01a20a1d-c992-790b-823f-f4a40e4561a7', 'manual', '{"by": "manual", "request_id": "01a20a1d-c992-790b-823f-f4a40e4561a7", "user_id": "owner"}', NULL, 'running', 1795466054036692, 1795466054036692, 1, 1795466145911261, 1795466055913143, NULL, NULL, NULL, 1802, 16, NULL, 'none', NULL, NULL, 1795466054044844, 0, '{"tools": ["time", "json", "echo", "message", "memory_search", "memory_read", "memory_tree", "list_dir", "glob", "read_attachment", "http", "routine_list", "routine_history", "tool_list", "tool_info", "shell"], "grants": ["shell *"], "rounds": 3}', NULL);
DELETE FROM run_steps;
INSERT INTO run_steps VALUES ('01a20a1d-c994-764f-bbbc-4f23f50e4b4b', 1, 1795466055920450, 'user', 'please run: echo tending >> tending.txt && sleep 600

# Trigger of this run
A person asked for this run.', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO run_steps VALUES ('01a20a1d-c994-764f-bbbc-4f23f50e4b4b', 2, 1795466055929430, 'assistant', '', NULL, NULL, '["openai","sim-1",""]', NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO run_steps VALUES ('01a20a1d-c994-764f-bbbc-4f23f50e4b4b', 3, 1795466055929540, 'call', '{"command":"echo tending >> tending.txt && sleep 600"}', '01a20a1d-d0f9-72db-a0f6-8f5cecf68e51', 'shell', NULL, 'effect', 'running', 24297, 24297, 6486316, 1795466055986326, NULL);
DELETE FROM model_calls;
DELETE FROM memories;
DELETE FROM memory_terms_data;
INSERT INTO memory_terms_data VALUES (1, X'');
INSERT INTO memory_terms_data VALUES (10, X'00000000000000');
DELETE FROM memory_terms_idx;
DELETE FROM memory_terms_docsize;
DELETE FROM memory_terms_config;
INSERT INTO memory_terms_config VALUES ('version', 4);
DELETE FROM audit;
INSERT INTO audit VALUES (1, 1795466042994302, 'policy', NULL, 'policy', NULL, '{"approvals":{"approvers":"requester","autonomous_denylist":["routine_create","routine_update","routine_delete","routine_fire","event_emit","secret_list","secret_delete"],"dangerous_operations":["delete","write","execute","modify"],"dangerous_tools":["shell","write_file","apply_patch","delete_file","http"],"expires_after_s":86400.0,"loop_timeout_s":300.0,"max_rounds":5,"max_tools":20,"preset":"auto_loop","quorum":1,"rules":[],"shell_per_hour":300,"shell_per_minute":30,"tool_timeout_s":30.0,"tool_timeouts":{"shell":120.0},"whitelist":["time","json","echo","ask_user","memory_write","memory_read","memory_search","memory_tree","tool_list","tool_info","message","read_attachment"]},"owner":"owner","owner_identities":["telegram:7"],"policy":{"ceiling":{},"ceiling_for":{},"disabled":[],"disabled_for":{},"unreadable":null},"roles":{"guest":{"daily_model_calls":50,"tools":["time","json","ask_user"]},"member":{"ask_owner":false,"tools":["shell","write_file","time"]}},"teams":{}}', 'eb45ca8d862e6bde', X'9405F600F112FBC49817BA3A3821707DD7045D0D6E9EABA3FDA88D44C45C5DBF', 'eb45ca8d862e6bde:512d22b794665752ecd68419aa92b3a35b8f13bafa6560b0a481967051aa8ac4');
INSERT INTO audit VALUES (2, 1795466043008042, 'role', NULL, '01a20a1d-9e7f-7a9c-ad74-d73f4319bd40', NULL, '{"before":null,"role":"member"}', 'eb45ca8d862e6bde', X'E93E1E55262046BD83BA3BB3E11CD07BB3DB138312BE95D08087A4D70A0D3B19', 'eb45ca8d862e6bde:fb8f51c9af6c966b793817ca47341e011f409c529abf47f3b4fee78663cf5fc8');
INSERT INTO audit VALUES (3, 1795466043017933, 'linked', NULL, 'telegram:8', NULL, '{"user":"01a20a1d-9e7f-7a9c-ad74-d73f4319bd40"}', 'eb45ca8d862e6bde', X'F9519D2AA0CCFA5E72F8FFD77BA16DEE087C1DE14B9BD0EE60E103444F06B912', 'eb45ca8d862e6bde:e6668765be087e241005c47c47f6318f68441ea0bda34576a94f342f846cc556');
INSERT INTO audit VALUES (4, 1795466043637026, 'role', NULL, '01a20a1d-a0f4-7ee1-a54d-2da444ca94e2', NULL, '{"before":null,"role":"member"}', 'eb45ca8d862e6bde', X'061CF02F0DB30D3CEE0AE0044B24D1441C9E667194902931B537AED90418C31D', 'eb45ca8d862e6bde:2163483667710e1a08148c2c585a9db8858ef99f79efd09a5b4e7d88f475d174');
INSERT INTO audit VALUES (5, 1795466043641534, 'linked', NULL, 'telegram:10', NULL, '{"user":"01a20a1d-a0f4-7ee1-a54d-2da444ca94e2"}', 'eb45ca8d862e6bde', X'61E4E2D13CD7F0C9B3CF8C269E1171CB184B360A99391E50E8DC1D1C47F07B2A', 'eb45ca8d862e6bde:cef2f322d6b886b3984aaa1970c473c04ad9ccadf442266ae7657471af76eec5');
INSERT INTO audit VALUES (6, 1795466044275838, 'role', NULL, '01a20a1d-a373-7b12-88a2-02a3f82f08bf', NULL, '{"before":null,"role":"member"}', 'eb45ca8d862e6bde', X'2D576B77AD24FBB29F00328A9550642A528AD32FA87D867485CEC55A0914686A', 'eb45ca8d862e6bde:e18072d1fae9f583f9e5f87d50c8f9e04f2cc41aec36a3694e5211a8364c34af');
INSERT INTO audit VALUES (7, 1795466044283443, 'linked', NULL, 'telegram:9', NULL, '{"user":"01a20a1d-a373-7b12-88a2-02a3f82f08bf"}', 'eb45ca8d862e6bde', X'82025D2E9A8010A0AE1231BEBA6F5ABE566763B3FB062DB55EB3FECBC1C76C8B', 'eb45ca8d862e6bde:db8ad30c64d0a70f9cbc13f1c75a713f7b50f6fd09fae0f44f2c2db775b7d252');
INSERT INTO audit VALUES (8, 1795466045469016, 'secret_set', 'owner', 'garden', NULL, '{"key":"2aa5c3f8eae5fd7a"}', 'eb45ca8d862e6bde', X'C16518785FAAE286EA0082A78E7AE9FD0BFF38C6812FF7CC8E21B74DDCBC365B', 'eb45ca8d862e6bde:21efb57d4738cb30423f145bb225727d3eed6fbc55abc07390739efdb3f3e6d9');
INSERT INTO audit VALUES (9, 1795466050247276, 'account', NULL, 'telegram:7', NULL, '{"event":"tg:123456:m:7:1","user":"owner","via":"config"}', 'eb45ca8d862e6bde', X'6A399770F3040601A4177C5937778C2EE07CB7EA82598CBB665A04A8034D44FA', 'eb45ca8d862e6bde:76e8375f4df9ab30cfc6b98d295839ee43e76e01230b57488877722209fe86fe');
INSERT INTO audit VALUES (10, 1795466050325275, 'asked', 'owner', '95h41vpat5', '01a20a1d-bae5-7c7a-95e2-e3e40d945b83', '{"about":"approval","approvers":[],"binding":"98d22abbd77218c4c9ed703915d6f135c24a0904852b0356de3b1d6e4aae3fe2","call":"01a20a1d-baee-7d9f-bc9f-c046066b9d1d","calls":[],"events":["tg:123456:m:-1000002000001:11"],"quorum":1,"tool":"shell"}', 'eb45ca8d862e6bde', X'D7E6991B0CA0370B40414DD1C30F3502DD3610E47543DE56B92D2400353BB74F', 'eb45ca8d862e6bde:bb21c7527fa9aa6a900a45a1fb407ba1ff652ec771356413b11c6245ae26ea35');
INSERT INTO audit VALUES (11, 1795466050331762, 'granted', 'owner', '01a20a1d-bb1b-7d1b-a7fb-4e8f707dfacf', NULL, '{"event":"tg:123456:cb:4382000000000000001","expires_at":null,"pattern":">> granted.txt echo granted","scope":"user","tool":"shell","user":"owner"}', 'eb45ca8d862e6bde', X'3BCD1F0F06CD97E36D2FF9E96D32BDCAEF439BBDB361B4623A570920DD8D87E8', 'eb45ca8d862e6bde:e59c369a7327efa030be04a8a49d9b5979a30e32d5296dc8a84fc2c2f91d0b8b');
INSERT INTO audit VALUES (12, 1795466050331986, 'vote', 'owner', '95h41vpat5', '01a20a1d-bae5-7c7a-95e2-e3e40d945b83', '{"answer":"always","event":"tg:123456:cb:4382000000000000001"}', 'eb45ca8d862e6bde', X'E099DEBB6F514CFDCF0D9E27626AE310C97D834F3F3DC181942D4D1E6BEDFFE4', 'eb45ca8d862e6bde:a441e8a1161f78e5910d29e2d3b46fdfd274f33fbd2ef28f5c149152760eaed5');
INSERT INTO audit VALUES (13, 1795466050332185, 'decided', 'owner', '95h41vpat5', '01a20a1d-bae5-7c7a-95e2-e3e40d945b83', '{"about":"approval","call":"01a20a1d-baee-7d9f-bc9f-c046066b9d1d","event":"tg:123456:cb:4382000000000000001","events":["tg:123456:m:-1000002000001:11"],"outcome":"always"}', 'eb45ca8d862e6bde', X'E4C20B8352BEC65E8E802EF572E347713F2A90E1A241F8C43CB16A80855E0F6F', 'eb45ca8d862e6bde:d285af5ab227b6ba3f506e77e297019fd301ea029b84da547ffdabbc1c01ad53');
INSERT INTO audit VALUES (14, 1795466050341562, 'started', 'owner', '01a20a1d-baee-7d9f-bc9f-c046066b9d1d', '01a20a1d-bae5-7c7a-95e2-e3e40d945b83', '{"arguments":"8b77da18a6e03f3645d16cc5f5347885a3a041efcb0fa66150d70c2c8b31d814","events":["tg:123456:m:-1000002000001:11"],"tool":"shell"}', 'eb45ca8d862e6bde', X'C82DBEF917259986F96F4B6C4F8048175C6C2CC84E52A8C55621A7BF9A286269', 'eb45ca8d862e6bde:eebf7315dd5ab57770633d20a7dcea1e64dffa80ffd9f8a9768bf9cac5782da8');
INSERT INTO audit VALUES (15, 1795466050436722, 'ended', 'owner', '01a20a1d-baee-7d9f-bc9f-c046066b9d1d', '01a20a1d-bae5-7c7a-95e2-e3e40d945b83', '{"arguments":"8b77da18a6e03f3645d16cc5f5347885a3a041efcb0fa66150d70c2c8b31d814","ended_at":1795466050436362,"events":["tg:123456:m:-1000002000001:11"],"started_at":1795466050341422,"status":"ok","tool":"shell"}', 'eb45ca8d862e6bde', X'811805E178F38868CCD80E79EC55EAFD1FC1EF796035C8BD117759293E32EB5C', 'eb45ca8d862e6bde:8eed136c9718792928e9c46fe6eb42833a3b2b1ebce523d3094a0cc1b84df9e4');
INSERT INTO audit VALUES (16, 1795466051223349, 'policy', NULL, 'policy', NULL, '{"approvals":{"approvers":"requester","autonomous_denylist":["routine_create","routine_update","routine_delete","routine_fire","event_emit","secret_list","secret_delete"],"dangerous_operations":["delete","write","execute","modify"],"dangerous_tools":["shell","write_file","apply_patch","delete_file","http"],"expires_after_s":86400.0,"loop_timeout_s":300.0,"max_rounds":3,"max_tools":20,"preset":"auto_loop","quorum":1,"rules":[{"approvers":"team:ops","ask_in":"","escalate_after_s":null,"escalate_to":null,"not_requester":false,"quorum":2,"risk":null,"role":null,"tool":"write_file"}],"shell_per_hour":300,"shell_per_minute":30,"tool_timeout_s":30.0,"tool_timeouts":{"shell":120.0},"whitelist":["time","json","echo","ask_user","memory_write","memory_read","memory_search","memory_tree","tool_list","tool_info","message","read_attachment"]},"owner":"owner","owner_identities":["telegram:7"],"policy":{"ceiling":{},"ceiling_for":{},"disabled":[],"disabled_for":{},"unreadable":null},"roles":{"guest":{"daily_model_calls":50,"tools":["time","json","ask_user"]},"member":{"ask_owner":false,"tools":["shell","write_file","time"]}},"teams":{"ops":["owner","01a20a1d-a373-7b12-88a2-02a3f82f08bf"]}}', 'eb45ca8d862e6bde', X'8D8EBCC3B74DFDC43DD7DE2C3A361732A29E807CB7B5ECE869FC32AF315C854B', 'eb45ca8d862e6bde:c21a624327a561f09a30c001cddafb687bde4ce1b1852076b13e552e86ae3ca7');
INSERT INTO audit VALUES (17, 1795466051302652, 'answered', NULL, '01a20a1d-bae5-73be-86f7-9b146adabc90', '01a20a1d-bae5-7c7a-95e2-e3e40d945b83', '{"events":["tg:123456:m:-1000002000001:11"],"outbox":[7],"state":"done"}', 'eb45ca8d862e6bde', X'E5F53D4F08D918220465A3398C82F4AC386912AD0A133B8C883C044759FDBEE7', 'eb45ca8d862e6bde:2b5bc314635c4acdc427f88eae4c45253233fda0ab092084efe522e3feef698a');
INSERT INTO audit VALUES (18, 1795466051323232, 'asked', 'owner', 'zra4brqs5k', '01a20a1d-bef2-7631-bf10-82cfd2fe47eb', '{"about":"approval","approvers":[],"binding":"470f75b921273f6d613274d4581ec501762ebf5d70370e9207da0a1d38307b35","call":"01a20a1d-bef8-7ac3-899e-500240c41a2a","calls":[],"events":["tg:123456:m:-1000002000001:14"],"quorum":1,"tool":"shell"}', 'eb45ca8d862e6bde', X'16B993251D403DE74F041E0C363DE5DEFFC51814167FBD891E874DDE462ED546', 'eb45ca8d862e6bde:39bb3faa48743cf3cdedc59db3282f9060e4354772f8f71eb7fda2e39a51faee');
INSERT INTO audit VALUES (19, 1795466051327629, 'vote', 'owner', 'zra4brqs5k', '01a20a1d-bef2-7631-bf10-82cfd2fe47eb', '{"answer":"approve","event":"tg:123456:cb:4382000000000000002"}', 'eb45ca8d862e6bde', X'7C8172218CA5A35204992CF6FABB1E86209A4174118A29BC16DF155D6CBFF14E', 'eb45ca8d862e6bde:1fbc3055864fc9df6017dfb56c569126073baee454d8997690e89800eb7e014a');
INSERT INTO audit VALUES (20, 1795466051327769, 'decided', 'owner', 'zra4brqs5k', '01a20a1d-bef2-7631-bf10-82cfd2fe47eb', '{"about":"approval","call":"01a20a1d-bef8-7ac3-899e-500240c41a2a","event":"tg:123456:cb:4382000000000000002","events":["tg:123456:m:-1000002000001:14"],"outcome":"approve"}', 'eb45ca8d862e6bde', X'E86E60DACABC3C0140F5BA2834AD1A0B1709882F92AFC797830EF6AB2547E433', 'eb45ca8d862e6bde:89eba94c9783fc4ace2e5d4a1eb36ef4f86b602e96fd84aec81aee7c3508dfe3');
INSERT INTO audit VALUES (21, 1795466051332668, 'started', 'owner', '01a20a1d-bef8-7ac3-899e-500240c41a2a', '01a20a1d-bef2-7631-bf10-82cfd2fe47eb', '{"arguments":"6b24c7763947d7470b9fe47e1d11f47cdf491159bbc543ee2fb4d9358d15863d","events":["tg:123456:m:-1000002000001:14"],"tool":"shell"}', 'eb45ca8d862e6bde', X'317FF8D8DA6D3F1BB5E78B58E533D957D00FE70A35305C56B895B02AAE11A642', 'eb45ca8d862e6bde:50bf69f5c5822e231503d9ca4bdbd642a066270bf5c128b84f0094a0b3c23eeb');
INSERT INTO audit VALUES (22, 1795466055754895, 'asked', 'owner', 'hkrjw2j2sh', '01a20a1d-bef2-7631-bf10-82cfd2fe47eb', '{"about":"unknown_outcome","approvers":[],"binding":"470f75b921273f6d613274d4581ec501762ebf5d70370e9207da0a1d38307b35","call":"01a20a1d-bef8-7ac3-899e-500240c41a2a","calls":[],"events":["tg:123456:m:-1000002000001:14"],"quorum":1,"tool":"shell"}', 'eb45ca8d862e6bde', X'AC2E77FE210F9CBFC63C2A3A4F0D95B9574F9ED246E4D61A90A2959E0366125F', 'eb45ca8d862e6bde:28baefffa76c0e67765a5400187007c333b1234733a5da2733497c229fb9faab');
INSERT INTO audit VALUES (23, 1795466055986466, 'started', 'owner', '01a20a1d-d0f9-72db-a0f6-8f5cecf68e51', NULL, '{"arguments":"3c606854bbd4f09e08b85fbef9e9a3059b95a06dfd3466eb735fe6db1bebef20","run":"01a20a1d-c994-764f-bbbc-4f23f50e4b4b","tool":"shell","trigger":"manual:01a20a1d-c992-790b-823f-f4a40e4561a7"}', 'eb45ca8d862e6bde', X'2CC81833E4235D4B8D83E703305207755BBD3ECA9704CB7969BE2B76B2A3EE94', 'eb45ca8d862e6bde:df6bab0c92d45f6b1fa6a55b321a23d788a872e33d05ade330fb4e19780b9d19');
INSERT INTO audit VALUES (24, 1795466056089230, 'asked', 'owner', 'k09qetfq6r', '01a20a1d-d18d-736f-a45b-2b3a1a3bb3dd', '{"about":"approval","approvers":[],"binding":"a2ee7233d4b152580aedcc79ef689e5109b6a2536edbda15e6d56a6a839cc075","call":"01a20a1d-d194-7152-82aa-d3ae538d33b5","calls":[],"events":["tg:123456:m:-1000002000001:17"],"quorum":1,"tool":"shell"}', 'eb45ca8d862e6bde', X'787588E57DD24D2DDC49CB4BDE181A9B6E50F02CC2F3FAD00FB78BE2B0EBBDFF', 'eb45ca8d862e6bde:a4c3833b9472907734a3352b40bb2b845be4d032c7eaf5899498a5d03bc16cf5');
INSERT INTO audit VALUES (25, 1795466056107373, 'asked', 'owner', 'z7wn2bd56h', '01a20a1d-d1a1-73be-aa1c-6a68369d186a', '{"about":"approval","approvers":[],"binding":"525988cb7314c3fe67090a3d31abb990ef2643484bf04136facc5c1ad7f1295e","call":null,"calls":["01a20a1d-d1a6-7239-879c-01bb7615a4fd","01a20a1d-d1a6-78ca-bdf8-9a3770735838"],"events":["tg:123456:m:-1000002000001:19"],"quorum":1,"tool":null}', 'eb45ca8d862e6bde', X'43E1EAB9C02E617AA76760A6C873ED252329EBE78CF78A78C3E194BD354C5CA5', 'eb45ca8d862e6bde:83717c86d9eaf0eacb67722e923ea15d17fb763abeef61b64276aa2eba5baf94');
INSERT INTO audit VALUES (26, 1795466056119293, 'asked', 'owner', '3ca8bmjq82', '01a20a1d-d1b1-74af-a02f-d39dd3321238', '{"about":"question","approvers":["owner"],"binding":"","call":"01a20a1d-d1b4-7dbe-8fc8-fcc50c8a26e5","calls":[],"events":["tg:123456:m:-1000002000001:21"],"quorum":1,"tool":"ask_user"}', 'eb45ca8d862e6bde', X'A545B97E6311F7EA3F2CE33BCF139F411C427AFC311485945F6D5DFA4865649E', 'eb45ca8d862e6bde:d73693e071b86e34373a8b404eb2aeac639b7dfc9870fd53ac7ef4c1d6bcaa41');
INSERT INTO audit VALUES (27, 1795466056131434, 'ended', 'owner', '01a20a1d-d1c0-7320-a407-49b26259320b', '01a20a1d-d1bc-784a-9f32-a8bea01b030e', '{"arguments":"fefe49ac3721179cb45927231402a90626e57cb8de1fec4b3dbc3060c826eb6f","ended_at":1795466056131105,"events":["tg:123456:m:-1000002000001:23"],"started_at":1795466056130488,"status":"ok","tool":"time"}', 'eb45ca8d862e6bde', X'D9ED0FD044BBCD86FA0764903B00DADEA872291427DF21C2EF94907B7D2749F6', 'eb45ca8d862e6bde:2cd0d9850178e9ef98b1b2d90911ca0220dd25139427882318982e2e42dc76a6');
INSERT INTO audit VALUES (28, 1795466056137109, 'ended', 'owner', '01a20a1d-d1c7-79d6-b45e-2e32fb089d9d', '01a20a1d-d1bc-784a-9f32-a8bea01b030e', '{"arguments":"fefe49ac3721179cb45927231402a90626e57cb8de1fec4b3dbc3060c826eb6f","ended_at":1795466056136966,"events":["tg:123456:m:-1000002000001:23"],"started_at":1795466056136438,"status":"ok","tool":"time"}', 'eb45ca8d862e6bde', X'78117823D036B5396E26ACA11E76CE5E18F85A09226537D2A2A696E32B7916DF', 'eb45ca8d862e6bde:e1919acd97464012b5ab97ba0bf6e41a1f4b9f4d60613035cc6862d5df5b12a6');
INSERT INTO audit VALUES (29, 1795466056143340, 'ended', 'owner', '01a20a1d-d1cd-7186-b411-20e8676a5fd5', '01a20a1d-d1bc-784a-9f32-a8bea01b030e', '{"arguments":"fefe49ac3721179cb45927231402a90626e57cb8de1fec4b3dbc3060c826eb6f","ended_at":1795466056143153,"events":["tg:123456:m:-1000002000001:23"],"started_at":1795466056142587,"status":"ok","tool":"time"}', 'eb45ca8d862e6bde', X'258CFE4FED78B024134E70020BB8AC6D0DA248F078A169858D2921FAE5BC7553', 'eb45ca8d862e6bde:670ef58f5ab23a1275ec5405f7e527116717188d60008c75bdd9a2536218a09d');
INSERT INTO audit VALUES (30, 1795466056144884, 'asked', 'owner', 'gcsfpfazy9', '01a20a1d-d1bc-784a-9f32-a8bea01b030e', '{"about":"continue","approvers":[],"binding":"","call":null,"calls":[],"events":["tg:123456:m:-1000002000001:23"],"quorum":1,"tool":null}', 'eb45ca8d862e6bde', X'8E56FAE5E336D5908D3054D845CAF3AD17D8ABD8014C72B71FFADD86734ED888', 'eb45ca8d862e6bde:9df2e466ef4b226d6786add81505e78cabeaab55f02dd4179e0dad592c6fe757');
INSERT INTO audit VALUES (31, 1795466056158473, 'asked', '01a20a1d-9e7f-7a9c-ad74-d73f4319bd40', '2wjxqe3gf2', '01a20a1d-d1d6-7ad1-a16b-8df53385a9ba', '{"about":"approval","approvers":["owner","01a20a1d-a373-7b12-88a2-02a3f82f08bf"],"binding":"80834308cb1b7e86ef223e71285cdb197a8c7cd56ccfb9cd2c926d0942352ad7.1ed50294a2c51b8f205647a90be1dff9fc2e9ec844a914d2ea9c854fe39f7f7d","call":"01a20a1d-d1da-7df4-913e-9260066f3f4e","calls":[],"events":["tg:123456:m:8:10"],"quorum":2,"tool":"write_file"}', 'eb45ca8d862e6bde', X'D15084D87B28DC61BDFD08108BA8508E9D03C88F85C00483C34F363A9C9FFDE3', 'eb45ca8d862e6bde:45593910fe6b548efb9d0c43548396548da20d594b5c1ac5337480fd33e008f0');
INSERT INTO audit VALUES (32, 1795466056168220, 'vote', '01a20a1d-a373-7b12-88a2-02a3f82f08bf', '2wjxqe3gf2', '01a20a1d-d1d6-7ad1-a16b-8df53385a9ba', '{"answer":"approve","event":"tg:123456:cb:4382000000000000003"}', 'eb45ca8d862e6bde', X'E3EC903AB335920B69AADACC9F34EA6C4E853AEED5F4BB329F417B9B9B95EFAC', 'eb45ca8d862e6bde:b6b6b98bf9c51e82e098782ca0ef6f5b209565a7e0016b8007558ac8ea547af7');
INSERT INTO audit VALUES (33, 1795466056185575, 'asked', 'owner', 'gxcdgcdfbb', '01a20a1d-d1ef-7515-aca6-2cd6dca0f334', '{"about":"approval","approvers":[],"binding":"a6f6b91ebaaeab3770e4a5ce1e71f670dafa66c8af126a4d8993bed77dcc9b92","call":"01a20a1d-d1f5-7d90-95d2-ecac68e4ac42","calls":[],"events":["tg:123456:m:-1000002000001:25"],"quorum":1,"tool":"shell"}', 'eb45ca8d862e6bde', X'595452FCD1DBDD12875CAC46B08067674E0F5DC18049A7940629AE3F62A6B973', 'eb45ca8d862e6bde:223cd2917d68265fbf0470c2fb352be78714a66c4d24ee106c252c2432933d9c');
INSERT INTO audit VALUES (34, 1795466056190440, 'vote', 'owner', 'gxcdgcdfbb', '01a20a1d-d1ef-7515-aca6-2cd6dca0f334', '{"answer":"approve","event":"tg:123456:cb:4382000000000000004"}', 'eb45ca8d862e6bde', X'A8805123DB97729094A5AF2DF49A823BA62E045E1AC0673BFA3AB388FBBC079A', 'eb45ca8d862e6bde:ae195b466922fb26b391317f34a1d596d31058eaef36626204cf7611f40b2872');
INSERT INTO audit VALUES (35, 1795466056190751, 'decided', 'owner', 'gxcdgcdfbb', '01a20a1d-d1ef-7515-aca6-2cd6dca0f334', '{"about":"approval","call":"01a20a1d-d1f5-7d90-95d2-ecac68e4ac42","event":"tg:123456:cb:4382000000000000004","events":["tg:123456:m:-1000002000001:25"],"outcome":"approve"}', 'eb45ca8d862e6bde', X'D830C35A9D5A8B47D08CBF8D77C3AB63B5EBB51AAD0EDFD06A2E07D70AF63B82', 'eb45ca8d862e6bde:e6d807a5d11b7ac5ad463188a42c3b00d3c04830c6ab1785eadbd085b25205c6');
INSERT INTO audit VALUES (36, 1795466056199596, 'started', 'owner', '01a20a1d-d1f5-7d90-95d2-ecac68e4ac42', '01a20a1d-d1ef-7515-aca6-2cd6dca0f334', '{"arguments":"558e0af1a1c426e912d194326682e54669f2dbf45f1710ce295b843c895de400","events":["tg:123456:m:-1000002000001:25"],"tool":"shell"}', 'eb45ca8d862e6bde', X'6A2CE4171F4B025D69BFEB9906EE8F634F15D8C5D407120F755AEA4E61C16934', 'eb45ca8d862e6bde:a0d71274696da22cc0db192dcfcc4080f0254deb0fe192955af53188b1e89618');
INSERT INTO audit VALUES (37, 1795466057313427, 'asked', 'owner', '68s7typwtm', '01a20a1d-d65a-7bed-beff-2300a412fad8', '{"about":"question","approvers":["owner"],"binding":"","call":"01a20a1d-d65f-7717-aecf-3499b138f132","calls":[],"events":["tg:123456:m:7:18"],"quorum":1,"tool":"tool_auth"}', 'eb45ca8d862e6bde', X'BF229F7AAED0C727A24CCB27FA5315E4C50C6E85696D2E5F3E9FE9743DF647C8', NULL);
DELETE FROM audit_checkpoint;
DELETE FROM probe;
CREATE INDEX identities_by_user ON identities (user_id);
CREATE INDEX refusals_answered ON refusals (channel, answered_at);
CREATE UNIQUE INDEX pairing_requests_open ON pairing_requests (channel, platform_user_id) WHERE state = 'open';
CREATE UNIQUE INDEX pairing_requests_code ON pairing_requests (code) WHERE state = 'open';
CREATE INDEX pairing_requests_by_sender ON pairing_requests (channel, platform_user_id, created_at);
CREATE INDEX pairing_requests_by_age ON pairing_requests (created_at);
CREATE UNIQUE INDEX link_offers_open ON link_offers (user_id) WHERE used_at IS NULL;
CREATE INDEX wrong_codes_by_guesser ON wrong_codes (guesser, at);
CREATE INDEX wrong_codes_by_time ON wrong_codes (at);
CREATE INDEX api_keys_by_user ON api_keys (user_id, kind);
CREATE INDEX thread_keys_by_thread ON thread_keys (thread_id);
CREATE UNIQUE INDEX turns_active ON turns (thread_id) WHERE state IN ('running', 'waiting');
CREATE INDEX entries_summaries ON entries (thread_id, seq) WHERE kind = 'summary';
CREATE INDEX inbox_waiting ON inbox (thread_id, order_key) WHERE outcome = 'waiting';
CREATE INDEX inbox_counted ON inbox (channel, platform_user_id, received_at) WHERE counted = 1;
CREATE INDEX inbox_album ON inbox (album) WHERE album IS NOT NULL;
CREATE INDEX calls_by_turn ON calls (turn_id, seq);
CREATE INDEX calls_running ON calls (turn_id) WHERE state = 'running';
CREATE INDEX calls_by_thread ON calls (thread_id, seq);
CREATE INDEX gates_open ON gates (thread_id, created_at) WHERE state = 'open';
CREATE INDEX gates_expiring ON gates (expires_at) WHERE state = 'open';
CREATE INDEX gates_by_turn ON gates (turn_id, kind, created_at);
CREATE INDEX gates_reminding ON gates (remind_at) WHERE state = 'open' AND remind_at IS NOT NULL;
CREATE INDEX gates_escalating ON gates (escalate_at) WHERE state = 'open' AND escalate_at IS NOT NULL;
CREATE INDEX gates_secret ON gates (requester_id, awaits) WHERE secret IS NOT NULL;
CREATE INDEX grants_by_user ON grants (user_id, tool);
CREATE INDEX tool_uses_lately ON tool_uses (user_id, tool, at);
CREATE INDEX outbox_unsettled ON outbox (channel, address) WHERE settled = 0;
CREATE INDEX outbox_cards ON outbox (gate_id) WHERE gate_id IS NOT NULL;
CREATE INDEX outbox_by_turn ON outbox (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX outbox_by_event ON outbox (event_id) WHERE event_id IS NOT NULL;
CREATE INDEX outbox_edits ON outbox (edit_of) WHERE edit_of IS NOT NULL;
CREATE INDEX outbox_replacing ON outbox (replaces) WHERE replaces IS NOT NULL;
CREATE UNIQUE INDEX outbox_streaming ON outbox (turn_id) WHERE state = 'streaming';
CREATE UNIQUE INDEX notices_by_row ON notices (outbox_id);
CREATE UNIQUE INDEX routines_by_path ON routines (webhook_path) WHERE webhook_path IS NOT NULL;
CREATE INDEX routines_by_slot ON routines (next_slot_at) WHERE enabled = 1 AND next_slot_at IS NOT NULL;
CREATE INDEX routine_runs_waiting ON routine_runs (not_before, due_at) WHERE state = 'waiting';
CREATE INDEX routine_runs_running ON routine_runs (routine_id) WHERE state = 'running';
CREATE INDEX routine_runs_by_age ON routine_runs (routine_id, created_at);
CREATE INDEX routine_runs_notices ON routine_runs (notice_at) WHERE notice_state = 'due';
CREATE UNIQUE INDEX routine_runs_menus ON routine_runs (menu_id) WHERE menu_id IS NOT NULL;
CREATE UNIQUE INDEX run_steps_calls ON run_steps (call_id) WHERE kind = 'call';
CREATE INDEX memories_newest ON memories (user_id, id);
CREATE UNIQUE INDEX memories_by_path ON memories (user_id, path) WHERE path IS NOT NULL;
CREATE INDEX audit_unlinked ON audit (id) WHERE link IS NULL;
CREATE INDEX audit_by_subject ON audit (subject);
PRAGMA user_version = 21;
COMMIT;
