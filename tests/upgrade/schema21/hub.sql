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
INSERT INTO users VALUES ('01a20cae-a386-71b0-b1cc-8329476cc6fb', 'member', 'Ben', 1795509101450246, NULL, NULL, NULL);
INSERT INTO users VALUES ('01a20cae-aec0-75e5-9682-4f897cacf5b5', 'member', 'Dan', 1795509104321171, NULL, NULL, NULL);
INSERT INTO users VALUES ('01a20cae-ba09-7680-979b-a95d627f3b9d', 'member', 'Eva', 1795509107210388, NULL, NULL, NULL);
INSERT INTO users VALUES ('01a20cae-c080-7a85-896b-1f0864b9cfb5', 'member', 'Lea', 1795509108864890, NULL, NULL, NULL);
INSERT INTO users VALUES ('owner', 'owner', 'owner', 1795509096307963, NULL, NULL, NULL);
DELETE FROM identities;
INSERT INTO identities VALUES ('telegram', '10', '01a20cae-aec0-75e5-9682-4f897cacf5b5', 'paired', '10', NULL, 1795509104349072, NULL, NULL, '10');
INSERT INTO identities VALUES ('telegram', '11', '01a20cae-ba09-7680-979b-a95d627f3b9d', 'paired', '11', NULL, 1795509107240292, NULL, NULL, '11');
INSERT INTO identities VALUES ('telegram', '7', 'owner', 'config', 'Olivia', NULL, 1795509136307338, NULL, NULL, '7');
INSERT INTO identities VALUES ('telegram', '8', '01a20cae-a386-71b0-b1cc-8329476cc6fb', 'paired', '8', NULL, 1795509101463085, NULL, NULL, '8');
INSERT INTO identities VALUES ('telegram', '9', '01a20cae-c080-7a85-896b-1f0864b9cfb5', 'paired', '9', NULL, 1795509108878141, NULL, NULL, '9');
DELETE FROM refusals;
DELETE FROM noise;
DELETE FROM pairing_requests;
DELETE FROM link_offers;
DELETE FROM wrong_codes;
DELETE FROM api_keys;
DELETE FROM hooked_sessions;
DELETE FROM threads;
INSERT INTO threads VALUES ('01a20caf-2bfd-7fda-8aa0-a4a3298e41b5', 'owner', 'telegram', '=-1000002000001:10', '-1000002000001:10', 'please run: echo granted >> granted.txt', NULL, 1795509136381198, 1795509136381482, 7, 1, NULL);
INSERT INTO threads VALUES ('01a20caf-3cc6-7b23-8756-0edd4ddae1d5', 'owner', 'telegram', '=-1000002000001:5', '-1000002000001:5', 'please run: echo unknown >> unknown.txt && sleep 600', NULL, 1795509140678303, 1795509140678393, 6, 1, NULL);
INSERT INTO threads VALUES ('01a20caf-7f1a-7744-a08f-633ca1731faf', 'owner', 'telegram', '=-1000002000001:2', '-1000002000001:2', 'please run: echo approved >> approved.txt', NULL, 1795509157658194, 1795509157658487, 4, 1, NULL);
INSERT INTO threads VALUES ('01a20caf-7f67-7c41-b2be-c7ebc775b5df', 'owner', 'telegram', '=-1000002000001:3', '-1000002000001:3', 'please run: echo one >> joint.txt', NULL, 1795509157735663, 1795509157735782, 5, 1, NULL);
INSERT INTO threads VALUES ('01a20caf-7fbb-7948-86e4-cc0d92c38987', 'owner', 'telegram', '=-1000002000001:4', '-1000002000001:4', 'please call: ask_user {"question": "Which color?", "choices": ["red", "dark gree', NULL, 1795509157819499, 1795509157819578, 4, 1, NULL);
INSERT INTO threads VALUES ('01a20caf-8003-70d9-8fe3-56aa9b9c7015', 'owner', 'telegram', '=-1000002000001:6', '-1000002000001:6', 'count for ever', NULL, 1795509157891677, 1795509157891782, 11, 1, NULL);
INSERT INTO threads VALUES ('01a20caf-8081-7471-9cb8-3c575b727028', '01a20cae-a386-71b0-b1cc-8329476cc6fb', 'telegram', '=8', '8', 'please call: write_file {"path": "quorum.txt", "content": "by two\n"}', NULL, 1795509158017816, 1795509158017906, 5, 1, NULL);
INSERT INTO threads VALUES ('01a20caf-80d6-7d03-b10c-b42c2b9efd5b', 'owner', 'telegram', '=-1000002000001:7', '-1000002000001:7', 'please run: echo running >> running.txt && sleep 600', NULL, 1795509158102075, 1795509158102130, 5, 1, NULL);
INSERT INTO threads VALUES ('01a20caf-828b-7216-b450-ee860fce7ad6', 'owner', 'telegram', '=-1000002000001:8', '-1000002000001:8', 'hold the turn', NULL, 1795509158539089, 1795509158539196, 1, 1, NULL);
INSERT INTO threads VALUES ('01a20caf-828b-73a2-bec7-c2ea2a03b7c2', '01a20cae-aec0-75e5-9682-4f897cacf5b5', 'telegram', '=10', '10', 'say: Sent to Dan.', NULL, 1795509158539774, 1795509158539837, 2, 1, NULL);
INSERT INTO threads VALUES ('01a20caf-82d6-711b-b903-83f06cb15b36', 'owner', 'telegram', '=-1000002000001:9', '-1000002000001:9', 'tell the story', NULL, 1795509158614506, 1795509158614614, 1, 1, NULL);
INSERT INTO threads VALUES ('01a20caf-86fc-7d2c-843b-7f77741b606f', 'owner', 'telegram', '=7', '7', 'please call: tool_auth {"name": "shed", "purpose": "to open the shed"}', NULL, 1795509159676828, 1795509159676959, 4, 1, NULL);
INSERT INTO threads VALUES ('01a20caf-876e-787e-8b75-d27ef6c065d2', '01a20cae-c080-7a85-896b-1f0864b9cfb5', 'telegram', '=9', '9', 'say: Sent to Lea.', NULL, 1795509159790252, 1795509159790434, 2, 1, NULL);
INSERT INTO threads VALUES ('01a20caf-876f-7e73-8bf3-9d8f5f859b86', '01a20cae-ba09-7680-979b-a95d627f3b9d', 'telegram', '=11', '11', 'please run: echo late >> late.txt', NULL, 1795509159791134, 1795509159791214, 4, 1, NULL);
DELETE FROM thread_keys;
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:10', '01a20caf-2bfd-7fda-8aa0-a4a3298e41b5');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:5', '01a20caf-3cc6-7b23-8756-0edd4ddae1d5');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:2', '01a20caf-7f1a-7744-a08f-633ca1731faf');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:3', '01a20caf-7f67-7c41-b2be-c7ebc775b5df');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:4', '01a20caf-7fbb-7948-86e4-cc0d92c38987');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:6', '01a20caf-8003-70d9-8fe3-56aa9b9c7015');
INSERT INTO thread_keys VALUES ('01a20cae-a386-71b0-b1cc-8329476cc6fb', 'telegram', '=8', '01a20caf-8081-7471-9cb8-3c575b727028');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:7', '01a20caf-80d6-7d03-b10c-b42c2b9efd5b');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:8', '01a20caf-828b-7216-b450-ee860fce7ad6');
INSERT INTO thread_keys VALUES ('01a20cae-aec0-75e5-9682-4f897cacf5b5', 'telegram', '=10', '01a20caf-828b-73a2-bec7-c2ea2a03b7c2');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=-1000002000001:9', '01a20caf-82d6-711b-b903-83f06cb15b36');
INSERT INTO thread_keys VALUES ('owner', 'telegram', '=7', '01a20caf-86fc-7d2c-843b-7f77741b606f');
INSERT INTO thread_keys VALUES ('01a20cae-c080-7a85-896b-1f0864b9cfb5', 'telegram', '=9', '01a20caf-876e-787e-8b75-d27ef6c065d2');
INSERT INTO thread_keys VALUES ('01a20cae-ba09-7680-979b-a95d627f3b9d', 'telegram', '=11', '01a20caf-876f-7e73-8bf3-9d8f5f859b86');
DELETE FROM sessions;
INSERT INTO sessions VALUES ('01a20cae-a386-71b0-b1cc-8329476cc6fb', '01a20caf-8081-7471-9cb8-3c575b727028', 1795509158017860);
INSERT INTO sessions VALUES ('01a20cae-aec0-75e5-9682-4f897cacf5b5', '01a20caf-828b-73a2-bec7-c2ea2a03b7c2', 1795509158539810);
INSERT INTO sessions VALUES ('01a20cae-ba09-7680-979b-a95d627f3b9d', '01a20caf-876f-7e73-8bf3-9d8f5f859b86', 1795509159791180);
INSERT INTO sessions VALUES ('01a20cae-c080-7a85-896b-1f0864b9cfb5', '01a20caf-876e-787e-8b75-d27ef6c065d2', 1795509159790319);
INSERT INTO sessions VALUES ('owner', '01a20caf-86fc-7d2c-843b-7f77741b606f', 1795509136381392);
DELETE FROM turns;
INSERT INTO turns VALUES ('01a20caf-2bfd-7c52-9e4b-24f08f134043', '01a20caf-2bfd-7fda-8aa0-a4a3298e41b5', 1, 'owner', 'done', 0, 1, 7, 1, NULL, 4244654, 0, NULL, 1795509136381482, 1795509140639398, '-1000002000001:11', '["tg:123456:m:-1000002000001:11"]');
INSERT INTO turns VALUES ('01a20caf-3cc6-703c-88c9-e3fd04f8edf5', '01a20caf-3cc6-7b23-8756-0edd4ddae1d5', 1, 'owner', 'waiting', 0, 1, 3, 1, NULL, 15854203, 0, NULL, 1795509140678393, NULL, '-1000002000001:14', '["tg:123456:m:-1000002000001:14"]');
INSERT INTO turns VALUES ('01a20caf-7f1a-7143-8592-f486c0b79328', '01a20caf-7f1a-7744-a08f-633ca1731faf', 1, 'owner', 'waiting', 0, 1, 3, 1, NULL, 48619, 0, NULL, 1795509157658487, NULL, '-1000002000001:17', '["tg:123456:m:-1000002000001:17"]');
INSERT INTO turns VALUES ('01a20caf-7f67-74f5-8d4c-4733a803e01c', '01a20caf-7f67-7c41-b2be-c7ebc775b5df', 1, 'owner', 'waiting', 0, 1, 4, 1, NULL, 67038, 0, NULL, 1795509157735782, NULL, '-1000002000001:19', '["tg:123456:m:-1000002000001:19"]');
INSERT INTO turns VALUES ('01a20caf-7fbb-72ab-9974-9789a6eb70b1', '01a20caf-7fbb-7948-86e4-cc0d92c38987', 1, 'owner', 'waiting', 0, 1, 3, 1, NULL, 42093, 0, NULL, 1795509157819578, NULL, '-1000002000001:21', '["tg:123456:m:-1000002000001:21"]');
INSERT INTO turns VALUES ('01a20caf-8003-7b7e-9489-6baf22e5e53a', '01a20caf-8003-70d9-8fe3-56aa9b9c7015', 1, 'owner', 'waiting', 0, 1, 10, 1, NULL, 97622, 0, NULL, 1795509157891782, NULL, '-1000002000001:23', '["tg:123456:m:-1000002000001:23"]');
INSERT INTO turns VALUES ('01a20caf-8081-7daa-9ad7-6b7728f1de2c', '01a20caf-8081-7471-9cb8-3c575b727028', 1, '01a20cae-a386-71b0-b1cc-8329476cc6fb', 'waiting', 0, 1, 3, 1, NULL, 28842, 0, NULL, 1795509158017906, NULL, NULL, '["tg:123456:m:8:12"]');
INSERT INTO turns VALUES ('01a20caf-80d6-7336-a8d0-caa3d9fdc5fd', '01a20caf-80d6-7d03-b10c-b42c2b9efd5b', 1, 'owner', 'running', 1, 1, 3, 1, 1795509158160771, 33156, 0, NULL, 1795509158102130, NULL, '-1000002000001:25', '["tg:123456:m:-1000002000001:25"]');
INSERT INTO turns VALUES ('01a20caf-828a-76b1-b3ca-15d609837fce', '01a20caf-828b-7216-b450-ee860fce7ad6', 1, 'owner', 'running', 1, 1, 1, 1, 1795509158539196, 0, 0, NULL, 1795509158539196, NULL, '-1000002000001:27', '["tg:123456:m:-1000002000001:27"]');
INSERT INTO turns VALUES ('01a20caf-828b-7119-848a-0a9ff1bffa95', '01a20caf-828b-73a2-bec7-c2ea2a03b7c2', 1, '01a20cae-aec0-75e5-9682-4f897cacf5b5', 'done', 1, 1, 2, 1, NULL, 59427, 0, NULL, 1795509158539837, 1795509158599264, NULL, '["tg:123456:m:10:18"]');
INSERT INTO turns VALUES ('01a20caf-82d6-7585-9413-f6e664ee5361', '01a20caf-82d6-711b-b903-83f06cb15b36', 1, 'owner', 'running', 1, 1, 1, 1, 1795509158614614, 0, 0, NULL, 1795509158614614, NULL, '-1000002000001:28', '["tg:123456:m:-1000002000001:28"]');
INSERT INTO turns VALUES ('01a20caf-86fc-7bf7-938e-b3683a77ce0e', '01a20caf-86fc-7d2c-843b-7f77741b606f', 1, 'owner', 'waiting', 0, 1, 3, 1, NULL, 94022, 0, NULL, 1795509159676959, NULL, NULL, '["tg:123456:m:7:20"]');
INSERT INTO turns VALUES ('01a20caf-876e-7f08-93b8-32553d8b634f', '01a20caf-876e-787e-8b75-d27ef6c065d2', 1, '01a20cae-c080-7a85-896b-1f0864b9cfb5', 'done', 1, 1, 2, 1, NULL, 69020, 0, NULL, 1795509159790434, 1795509159859454, NULL, '["tg:123456:m:9:22"]');
INSERT INTO turns VALUES ('01a20caf-876f-71a4-95ca-36520b96d0d6', '01a20caf-876f-7e73-8bf3-9d8f5f859b86', 1, '01a20cae-ba09-7680-979b-a95d627f3b9d', 'waiting', 0, 1, 3, 1, NULL, 81120, 0, NULL, 1795509159791214, NULL, NULL, '["tg:123456:m:11:23"]');
DELETE FROM entries;
INSERT INTO entries VALUES ('01a20caf-2bfd-7fda-8aa0-a4a3298e41b5', 1, '01a20caf-2bfd-7c52-9e4b-24f08f134043', 1795509136381784, 'user', 'please run: echo granted >> granted.txt', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20caf-2bfd-7fda-8aa0-a4a3298e41b5', 2, '01a20caf-2bfd-7c52-9e4b-24f08f134043', 1795509136399169, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20caf-2bfd-7fda-8aa0-a4a3298e41b5', 3, '01a20caf-2bfd-7c52-9e4b-24f08f134043', 1795509136399169, 'call', '{"command":"echo granted >> granted.txt"}', '01a20caf-2c0b-717f-99cf-04f89947f540', 'shell', NULL);
INSERT INTO entries VALUES ('01a20caf-2bfd-7fda-8aa0-a4a3298e41b5', 6, '01a20caf-2bfd-7c52-9e4b-24f08f134043', 1795509136844687, 'result', '<tool_output name="shell" id="5abdeba3666825f380a94d2a">
exit code: 0

</tool_output id="5abdeba3666825f380a94d2a">', '01a20caf-2c0b-717f-99cf-04f89947f540', 'ok', NULL);
INSERT INTO entries VALUES ('01a20caf-2bfd-7fda-8aa0-a4a3298e41b5', 7, '01a20caf-2bfd-7c52-9e4b-24f08f134043', 1795509140639301, 'assistant', 'Done: <tool_output name="shell" id="5abdeba3666825f380a94d2a">
exit code: 0

</tool_output id="5abdeba3666825f380a94d2a">', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20caf-3cc6-7b23-8756-0edd4ddae1d5', 1, '01a20caf-3cc6-703c-88c9-e3fd04f8edf5', 1795509140678465, 'user', 'please run: echo unknown >> unknown.txt && sleep 600', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20caf-3cc6-7b23-8756-0edd4ddae1d5', 2, '01a20caf-3cc6-703c-88c9-e3fd04f8edf5', 1795509140708265, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20caf-3cc6-7b23-8756-0edd4ddae1d5', 3, '01a20caf-3cc6-703c-88c9-e3fd04f8edf5', 1795509140708265, 'call', '{"command":"echo unknown >> unknown.txt && sleep 600"}', '01a20caf-3ce3-7b1a-a40a-4cda56933552', 'shell', NULL);
INSERT INTO entries VALUES ('01a20caf-7f1a-7744-a08f-633ca1731faf', 1, '01a20caf-7f1a-7143-8592-f486c0b79328', 1795509157662583, 'user', 'please run: echo approved >> approved.txt', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20caf-7f1a-7744-a08f-633ca1731faf', 2, '01a20caf-7f1a-7143-8592-f486c0b79328', 1795509157686929, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20caf-7f1a-7744-a08f-633ca1731faf', 3, '01a20caf-7f1a-7143-8592-f486c0b79328', 1795509157686929, 'call', '{"command":"echo approved >> approved.txt"}', '01a20caf-7f35-7266-b07b-d1fbb91a4d41', 'shell', NULL);
INSERT INTO entries VALUES ('01a20caf-7f67-7c41-b2be-c7ebc775b5df', 1, '01a20caf-7f67-74f5-8d4c-4733a803e01c', 1795509157735885, 'user', 'please run: echo one >> joint.txt
please run: echo two >> joint.txt', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20caf-7f67-7c41-b2be-c7ebc775b5df', 2, '01a20caf-7f67-74f5-8d4c-4733a803e01c', 1795509157763122, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20caf-7f67-7c41-b2be-c7ebc775b5df', 3, '01a20caf-7f67-74f5-8d4c-4733a803e01c', 1795509157763122, 'call', '{"command":"echo one >> joint.txt"}', '01a20caf-7f81-79bf-ba10-bc0a315712c0', 'shell', NULL);
INSERT INTO entries VALUES ('01a20caf-7f67-7c41-b2be-c7ebc775b5df', 4, '01a20caf-7f67-74f5-8d4c-4733a803e01c', 1795509157763122, 'call', '{"command":"echo two >> joint.txt"}', '01a20caf-7f81-75f6-ba91-e20cf6fb7bca', 'shell', NULL);
INSERT INTO entries VALUES ('01a20caf-7fbb-7948-86e4-cc0d92c38987', 1, '01a20caf-7fbb-72ab-9974-9789a6eb70b1', 1795509157819668, 'user', 'please call: ask_user {"question": "Which color?", "choices": ["red", "dark green"]}', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20caf-7fbb-7948-86e4-cc0d92c38987', 2, '01a20caf-7fbb-72ab-9974-9789a6eb70b1', 1795509157847018, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20caf-7fbb-7948-86e4-cc0d92c38987', 3, '01a20caf-7fbb-72ab-9974-9789a6eb70b1', 1795509157847018, 'call', '{"question":"Which color?","choices":["red","dark green"]}', '01a20caf-7fd0-7774-842a-a98865098398', 'ask_user', NULL);
INSERT INTO entries VALUES ('01a20caf-8003-70d9-8fe3-56aa9b9c7015', 1, '01a20caf-8003-7b7e-9489-6baf22e5e53a', 1795509157891868, 'user', 'count for ever', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20caf-8003-70d9-8fe3-56aa9b9c7015', 2, '01a20caf-8003-7b7e-9489-6baf22e5e53a', 1795509157910786, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20caf-8003-70d9-8fe3-56aa9b9c7015', 3, '01a20caf-8003-7b7e-9489-6baf22e5e53a', 1795509157910786, 'call', '{}', '01a20caf-8016-7f92-baf9-b067c0dbfb2a', 'time', NULL);
INSERT INTO entries VALUES ('01a20caf-8003-70d9-8fe3-56aa9b9c7015', 4, '01a20caf-8003-7b7e-9489-6baf22e5e53a', 1795509157921419, 'result', '<tool_output name="time" id="1f99d3b369e711bef1849d8e">
Tuesday, 2026-11-24 08:32:37+00:00 (UTC)
</tool_output id="1f99d3b369e711bef1849d8e">', '01a20caf-8016-7f92-baf9-b067c0dbfb2a', 'ok', NULL);
INSERT INTO entries VALUES ('01a20caf-8003-70d9-8fe3-56aa9b9c7015', 5, '01a20caf-8003-7b7e-9489-6baf22e5e53a', 1795509157936488, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20caf-8003-70d9-8fe3-56aa9b9c7015', 6, '01a20caf-8003-7b7e-9489-6baf22e5e53a', 1795509157936488, 'call', '{}', '01a20caf-8030-78b1-8b09-ad185bb3671c', 'time', NULL);
INSERT INTO entries VALUES ('01a20caf-8003-70d9-8fe3-56aa9b9c7015', 7, '01a20caf-8003-7b7e-9489-6baf22e5e53a', 1795509157943251, 'result', '<tool_output name="time" id="1f99d3b369e711bef1849d8e">
Tuesday, 2026-11-24 08:32:37+00:00 (UTC)
</tool_output id="1f99d3b369e711bef1849d8e">', '01a20caf-8030-78b1-8b09-ad185bb3671c', 'ok', NULL);
INSERT INTO entries VALUES ('01a20caf-8003-70d9-8fe3-56aa9b9c7015', 8, '01a20caf-8003-7b7e-9489-6baf22e5e53a', 1795509157971723, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20caf-8003-70d9-8fe3-56aa9b9c7015', 9, '01a20caf-8003-7b7e-9489-6baf22e5e53a', 1795509157971723, 'call', '{}', '01a20caf-8053-7a28-9cae-17e6ebd74ed3', 'time', NULL);
INSERT INTO entries VALUES ('01a20caf-8003-70d9-8fe3-56aa9b9c7015', 10, '01a20caf-8003-7b7e-9489-6baf22e5e53a', 1795509157983980, 'result', '<tool_output name="time" id="1f99d3b369e711bef1849d8e">
Tuesday, 2026-11-24 08:32:37+00:00 (UTC)
</tool_output id="1f99d3b369e711bef1849d8e">', '01a20caf-8053-7a28-9cae-17e6ebd74ed3', 'ok', NULL);
INSERT INTO entries VALUES ('01a20caf-8081-7471-9cb8-3c575b727028', 1, '01a20caf-8081-7daa-9ad7-6b7728f1de2c', 1795509158017987, 'user', 'please call: write_file {"path": "quorum.txt", "content": "by two\n"}', NULL, NULL, NULL);
INSERT INTO entries VALUES ('01a20caf-8081-7471-9cb8-3c575b727028', 2, '01a20caf-8081-7daa-9ad7-6b7728f1de2c', 1795509158032958, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20caf-8081-7471-9cb8-3c575b727028', 3, '01a20caf-8081-7daa-9ad7-6b7728f1de2c', 1795509158032958, 'call', '{"path":"quorum.txt","content":"by two\n"}', '01a20caf-8090-79e7-ac50-0ee3ddf5e1fa', 'write_file', NULL);
INSERT INTO entries VALUES ('01a20caf-80d6-7d03-b10c-b42c2b9efd5b', 1, '01a20caf-80d6-7336-a8d0-caa3d9fdc5fd', 1795509158102178, 'user', 'please run: echo running >> running.txt && sleep 600', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20caf-80d6-7d03-b10c-b42c2b9efd5b', 2, '01a20caf-80d6-7336-a8d0-caa3d9fdc5fd', 1795509158119224, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20caf-80d6-7d03-b10c-b42c2b9efd5b', 3, '01a20caf-80d6-7336-a8d0-caa3d9fdc5fd', 1795509158119224, 'call', '{"command":"echo running >> running.txt && sleep 600"}', '01a20caf-80e2-7d50-a2d5-a975f91883c1', 'shell', NULL);
INSERT INTO entries VALUES ('01a20caf-828b-7216-b450-ee860fce7ad6', 1, '01a20caf-828a-76b1-b3ca-15d609837fce', 1795509158539309, 'user', 'hold the turn', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20caf-828b-73a2-bec7-c2ea2a03b7c2', 1, '01a20caf-828b-7119-848a-0a9ff1bffa95', 1795509158539894, 'user', 'say: Sent to Dan.', NULL, NULL, NULL);
INSERT INTO entries VALUES ('01a20caf-828b-73a2-bec7-c2ea2a03b7c2', 2, '01a20caf-828b-7119-848a-0a9ff1bffa95', 1795509158599148, 'assistant', 'Sent to Dan.', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20caf-82d6-711b-b903-83f06cb15b36', 1, '01a20caf-82d6-7585-9413-f6e664ee5361', 1795509158614776, 'user', 'tell the story', NULL, 'Olivia', NULL);
INSERT INTO entries VALUES ('01a20caf-86fc-7d2c-843b-7f77741b606f', 1, '01a20caf-86fc-7bf7-938e-b3683a77ce0e', 1795509159677096, 'user', 'please call: tool_auth {"name": "shed", "purpose": "to open the shed"}', NULL, NULL, NULL);
INSERT INTO entries VALUES ('01a20caf-86fc-7d2c-843b-7f77741b606f', 2, '01a20caf-86fc-7bf7-938e-b3683a77ce0e', 1795509159757103, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20caf-86fc-7d2c-843b-7f77741b606f', 3, '01a20caf-86fc-7bf7-938e-b3683a77ce0e', 1795509159757103, 'call', '{"name":"shed","purpose":"to open the shed"}', '01a20caf-8738-70a4-8b23-b88e0519c203', 'tool_auth', NULL);
INSERT INTO entries VALUES ('01a20caf-876e-787e-8b75-d27ef6c065d2', 1, '01a20caf-876e-7f08-93b8-32553d8b634f', 1795509159790549, 'user', 'say: Sent to Lea.', NULL, NULL, NULL);
INSERT INTO entries VALUES ('01a20caf-876e-787e-8b75-d27ef6c065d2', 2, '01a20caf-876e-7f08-93b8-32553d8b634f', 1795509159859386, 'assistant', 'Sent to Lea.', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20caf-876f-7e73-8bf3-9d8f5f859b86', 1, '01a20caf-876f-71a4-95ca-36520b96d0d6', 1795509159791301, 'user', 'please run: echo late >> late.txt', NULL, NULL, NULL);
INSERT INTO entries VALUES ('01a20caf-876f-7e73-8bf3-9d8f5f859b86', 2, '01a20caf-876f-71a4-95ca-36520b96d0d6', 1795509159859064, 'assistant', '', NULL, NULL, '["openai","sim-1",""]');
INSERT INTO entries VALUES ('01a20caf-876f-7e73-8bf3-9d8f5f859b86', 3, '01a20caf-876f-71a4-95ca-36520b96d0d6', 1795509159859064, 'call', '{"command":"echo late >> late.txt"}', '01a20caf-87af-7b23-920d-b83b65be5442', 'shell', NULL);
DELETE FROM inbox;
INSERT INTO inbox VALUES (1, 'tg:123456:m:7:1', 'message', 'telegram', '7', '=7', 'owner', '7', 'Olivia', 1, '00000000000000000001', '/start', NULL, NULL, NULL, 'command: /start', NULL, 1795509136000000, 1795509136308819, 0, NULL, 0);
INSERT INTO inbox VALUES (2, 'tg:123456:m:8:3', 'message', 'telegram', '8', '=8', '01a20cae-a386-71b0-b1cc-8329476cc6fb', '8', 'Ben', 1, '00000000000000000003', '/start', NULL, NULL, NULL, 'command: /start', NULL, 1795509136000000, 1795509136352922, 1, NULL, 0);
INSERT INTO inbox VALUES (3, 'tg:123456:m:9:5', 'message', 'telegram', '9', '=9', '01a20cae-c080-7a85-896b-1f0864b9cfb5', '9', 'Lea', 1, '00000000000000000005', '/start', NULL, NULL, NULL, 'command: /start', NULL, 1795509136000000, 1795509136364518, 1, NULL, 0);
INSERT INTO inbox VALUES (4, 'tg:123456:m:10:7', 'message', 'telegram', '10', '=10', '01a20cae-aec0-75e5-9682-4f897cacf5b5', '10', 'Dan', 1, '00000000000000000007', '/start', NULL, NULL, NULL, 'command: /start', NULL, 1795509136000000, 1795509136371637, 1, NULL, 0);
INSERT INTO inbox VALUES (5, 'tg:123456:m:11:9', 'message', 'telegram', '11', '=11', '01a20cae-ba09-7680-979b-a95d627f3b9d', '11', 'Eva', 1, '00000000000000000009', '/start', NULL, NULL, NULL, 'command: /start', NULL, 1795509136000000, 1795509136376453, 1, NULL, 0);
INSERT INTO inbox VALUES (6, 'tg:123456:m:-1000002000001:11', 'message', 'telegram', '-1000002000001:10', '=-1000002000001:10', 'owner', '7', 'Olivia', 0, '00000000000000000011', 'please run: echo granted >> granted.txt', '{"ref":"-1000002000001:11"}', '01a20caf-2bfd-7fda-8aa0-a4a3298e41b5', '01a20caf-2bfd-7c52-9e4b-24f08f134043', 'turn 1', NULL, 1795509136000000, 1795509136382027, 0, NULL, 0);
INSERT INTO inbox VALUES (7, 'tg:123456:cb:4382000000000000001', 'choice', 'telegram', '-1000002000001:10', NULL, 'owner', '7', 'Olivia', 0, '', 'sk654ws7z7:2', NULL, '01a20caf-2bfd-7fda-8aa0-a4a3298e41b5', NULL, 'answer: sk654ws7z7', 'Always allowed by owner', 1795509136569338, 1795509136572349, 0, NULL, 0);
INSERT INTO inbox VALUES (8, 'tg:123456:m:-1000002000001:14', 'message', 'telegram', '-1000002000001:5', '=-1000002000001:5', 'owner', '7', 'Olivia', 0, '00000000000000000014', 'please run: echo unknown >> unknown.txt && sleep 600', '{"ref":"-1000002000001:14"}', '01a20caf-3cc6-7b23-8756-0edd4ddae1d5', '01a20caf-3cc6-703c-88c9-e3fd04f8edf5', 'turn 1', NULL, 1795509140000000, 1795509140678568, 0, NULL, 0);
INSERT INTO inbox VALUES (9, 'tg:123456:cb:4382000000000000002', 'choice', 'telegram', '-1000002000001:5', NULL, 'owner', '7', 'Olivia', 0, '', 'amdym4p473:0', NULL, '01a20caf-3cc6-7b23-8756-0edd4ddae1d5', NULL, 'answer: amdym4p473', 'Approved by owner', 1795509140726279, 1795509140728339, 0, NULL, 0);
INSERT INTO inbox VALUES (10, 'tg:123456:m:-1000002000001:17', 'message', 'telegram', '-1000002000001:2', '=-1000002000001:2', 'owner', '7', 'Olivia', 0, '00000000000000000017', 'please run: echo approved >> approved.txt', '{"ref":"-1000002000001:17"}', '01a20caf-7f1a-7744-a08f-633ca1731faf', '01a20caf-7f1a-7143-8592-f486c0b79328', 'turn 1', NULL, 1795509157000000, 1795509157662930, 0, NULL, 0);
INSERT INTO inbox VALUES (11, 'tg:123456:m:-1000002000001:19', 'message', 'telegram', '-1000002000001:3', '=-1000002000001:3', 'owner', '7', 'Olivia', 0, '00000000000000000019', 'please run: echo one >> joint.txt
please run: echo two >> joint.txt', '{"ref":"-1000002000001:19"}', '01a20caf-7f67-7c41-b2be-c7ebc775b5df', '01a20caf-7f67-74f5-8d4c-4733a803e01c', 'turn 1', NULL, 1795509157000000, 1795509157736022, 0, NULL, 0);
INSERT INTO inbox VALUES (12, 'tg:123456:m:-1000002000001:21', 'message', 'telegram', '-1000002000001:4', '=-1000002000001:4', 'owner', '7', 'Olivia', 0, '00000000000000000021', 'please call: ask_user {"question": "Which color?", "choices": ["red", "dark green"]}', '{"ref":"-1000002000001:21"}', '01a20caf-7fbb-7948-86e4-cc0d92c38987', '01a20caf-7fbb-72ab-9974-9789a6eb70b1', 'turn 1', NULL, 1795509157000000, 1795509157819768, 0, NULL, 0);
INSERT INTO inbox VALUES (13, 'tg:123456:m:-1000002000001:23', 'message', 'telegram', '-1000002000001:6', '=-1000002000001:6', 'owner', '7', 'Olivia', 0, '00000000000000000023', 'count for ever', '{"ref":"-1000002000001:23"}', '01a20caf-8003-70d9-8fe3-56aa9b9c7015', '01a20caf-8003-7b7e-9489-6baf22e5e53a', 'turn 1', NULL, 1795509157000000, 1795509157891982, 0, NULL, 0);
INSERT INTO inbox VALUES (14, 'tg:123456:m:8:12', 'message', 'telegram', '8', '=8', '01a20cae-a386-71b0-b1cc-8329476cc6fb', '8', 'Ben', 1, '00000000000000000012', 'please call: write_file {"path": "quorum.txt", "content": "by two\n"}', NULL, '01a20caf-8081-7471-9cb8-3c575b727028', '01a20caf-8081-7daa-9ad7-6b7728f1de2c', 'turn 1', NULL, 1795509158000000, 1795509158018084, 1, NULL, 0);
INSERT INTO inbox VALUES (15, 'tg:123456:cb:4382000000000000003', 'choice', 'telegram', '9', NULL, '01a20cae-c080-7a85-896b-1f0864b9cfb5', '9', 'Lea', 1, '', '2fhbwx59ge:0', NULL, '01a20caf-8081-7471-9cb8-3c575b727028', NULL, 'answer: 2fhbwx59ge', 'Counted. 1 more needed.', 1795509158072647, 1795509158080075, 0, NULL, 0);
INSERT INTO inbox VALUES (16, 'tg:123456:m:8:16', 'message', 'telegram', '8', '=8', '01a20cae-a386-71b0-b1cc-8329476cc6fb', '8', 'Ben', 1, '00000000000000000016', 'and water the garden', NULL, '01a20caf-8081-7471-9cb8-3c575b727028', NULL, 'waiting', NULL, 1795509158000000, 1795509158101578, 1, NULL, 0);
INSERT INTO inbox VALUES (17, 'tg:123456:m:-1000002000001:25', 'message', 'telegram', '-1000002000001:7', '=-1000002000001:7', 'owner', '7', 'Olivia', 0, '00000000000000000025', 'please run: echo running >> running.txt && sleep 600', '{"ref":"-1000002000001:25"}', '01a20caf-80d6-7d03-b10c-b42c2b9efd5b', '01a20caf-80d6-7336-a8d0-caa3d9fdc5fd', 'turn 1', NULL, 1795509158000000, 1795509158102244, 0, NULL, 0);
INSERT INTO inbox VALUES (18, 'tg:123456:cb:4382000000000000004', 'choice', 'telegram', '-1000002000001:7', NULL, 'owner', '7', 'Olivia', 0, '', 'r1ma7en469:0', NULL, '01a20caf-80d6-7d03-b10c-b42c2b9efd5b', NULL, 'answer: r1ma7en469', 'Approved by owner', 1795509158158426, 1795509158161083, 0, NULL, 0);
INSERT INTO inbox VALUES (19, 'tg:123456:m:-1000002000001:27', 'message', 'telegram', '-1000002000001:8', '=-1000002000001:8', 'owner', '7', 'Olivia', 0, '00000000000000000027', 'hold the turn', '{"ref":"-1000002000001:27"}', '01a20caf-828b-7216-b450-ee860fce7ad6', '01a20caf-828a-76b1-b3ca-15d609837fce', 'turn 1', NULL, 1795509158000000, 1795509158539434, 0, NULL, 0);
INSERT INTO inbox VALUES (20, 'tg:123456:m:10:18', 'message', 'telegram', '10', '=10', '01a20cae-aec0-75e5-9682-4f897cacf5b5', '10', 'Dan', 1, '00000000000000000018', 'say: Sent to Dan.', NULL, '01a20caf-828b-73a2-bec7-c2ea2a03b7c2', '01a20caf-828b-7119-848a-0a9ff1bffa95', 'turn 1', NULL, 1795509158000000, 1795509158539960, 1, NULL, 0);
INSERT INTO inbox VALUES (21, 'tg:123456:m:-1000002000001:28', 'message', 'telegram', '-1000002000001:9', '=-1000002000001:9', 'owner', '7', 'Olivia', 0, '00000000000000000028', 'tell the story', '{"ref":"-1000002000001:28"}', '01a20caf-82d6-711b-b903-83f06cb15b36', '01a20caf-82d6-7585-9413-f6e664ee5361', 'turn 1', NULL, 1795509158000000, 1795509158614885, 0, NULL, 0);
INSERT INTO inbox VALUES (22, 'tg:123456:m:7:20', 'message', 'telegram', '7', '=7', 'owner', '7', 'Olivia', 1, '00000000000000000020', 'please call: tool_auth {"name": "shed", "purpose": "to open the shed"}', NULL, '01a20caf-86fc-7d2c-843b-7f77741b606f', '01a20caf-86fc-7bf7-938e-b3683a77ce0e', 'turn 1', NULL, 1795509159000000, 1795509159677229, 0, NULL, 0);
INSERT INTO inbox VALUES (23, 'tg:123456:m:9:22', 'message', 'telegram', '9', '=9', '01a20cae-c080-7a85-896b-1f0864b9cfb5', '9', 'Lea', 1, '00000000000000000022', 'say: Sent to Lea.', NULL, '01a20caf-876e-787e-8b75-d27ef6c065d2', '01a20caf-876e-7f08-93b8-32553d8b634f', 'turn 1', NULL, 1795509159000000, 1795509159790677, 1, NULL, 0);
INSERT INTO inbox VALUES (24, 'tg:123456:m:11:23', 'message', 'telegram', '11', '=11', '01a20cae-ba09-7680-979b-a95d627f3b9d', '11', 'Eva', 1, '00000000000000000023', 'please run: echo late >> late.txt', NULL, '01a20caf-876f-7e73-8bf3-9d8f5f859b86', '01a20caf-876f-71a4-95ca-36520b96d0d6', 'turn 1', NULL, 1795509159000000, 1795509159791405, 1, NULL, 0);
DELETE FROM feed;
INSERT INTO feed VALUES ('01a20caf-2bfd-7fda-8aa0-a4a3298e41b5', 4, 1795509136559199, 'card', '01a20caf-2bfd-7c52-9e4b-24f08f134043', NULL, NULL, 'sk654ws7z7');
INSERT INTO feed VALUES ('01a20caf-2bfd-7fda-8aa0-a4a3298e41b5', 5, 1795509136571681, 'outcome', '01a20caf-2bfd-7c52-9e4b-24f08f134043', NULL, NULL, 'sk654ws7z7');
INSERT INTO feed VALUES ('01a20caf-3cc6-7b23-8756-0edd4ddae1d5', 4, 1795509140713214, 'card', '01a20caf-3cc6-703c-88c9-e3fd04f8edf5', NULL, NULL, 'amdym4p473');
INSERT INTO feed VALUES ('01a20caf-3cc6-7b23-8756-0edd4ddae1d5', 5, 1795509140727895, 'outcome', '01a20caf-3cc6-703c-88c9-e3fd04f8edf5', NULL, NULL, 'amdym4p473');
INSERT INTO feed VALUES ('01a20caf-3cc6-7b23-8756-0edd4ddae1d5', 6, 1795509156548134, 'card', '01a20caf-3cc6-703c-88c9-e3fd04f8edf5', NULL, NULL, 'xhv9mkbq4f');
INSERT INTO feed VALUES ('01a20caf-7f1a-7744-a08f-633ca1731faf', 4, 1795509157707388, 'card', '01a20caf-7f1a-7143-8592-f486c0b79328', NULL, NULL, '89zcme1e7y');
INSERT INTO feed VALUES ('01a20caf-7f67-7c41-b2be-c7ebc775b5df', 5, 1795509157803092, 'card', '01a20caf-7f67-74f5-8d4c-4733a803e01c', NULL, NULL, 'c75hrnd95k');
INSERT INTO feed VALUES ('01a20caf-7fbb-7948-86e4-cc0d92c38987', 4, 1795509157862015, 'card', '01a20caf-7fbb-72ab-9974-9789a6eb70b1', NULL, NULL, 'd0kn3q5rzs');
INSERT INTO feed VALUES ('01a20caf-8003-70d9-8fe3-56aa9b9c7015', 11, 1795509157989533, 'card', '01a20caf-8003-7b7e-9489-6baf22e5e53a', NULL, NULL, 'mrzv5g79vc');
INSERT INTO feed VALUES ('01a20caf-8081-7471-9cb8-3c575b727028', 4, 1795509158046980, 'card', '01a20caf-8081-7daa-9ad7-6b7728f1de2c', NULL, NULL, '2fhbwx59ge');
INSERT INTO feed VALUES ('01a20caf-8081-7471-9cb8-3c575b727028', 5, 1795509158101890, 'message', NULL, NULL, 20, NULL);
INSERT INTO feed VALUES ('01a20caf-80d6-7d03-b10c-b42c2b9efd5b', 4, 1795509158135451, 'card', '01a20caf-80d6-7336-a8d0-caa3d9fdc5fd', NULL, NULL, 'r1ma7en469');
INSERT INTO feed VALUES ('01a20caf-80d6-7d03-b10c-b42c2b9efd5b', 5, 1795509158160002, 'outcome', '01a20caf-80d6-7336-a8d0-caa3d9fdc5fd', NULL, NULL, 'r1ma7en469');
INSERT INTO feed VALUES ('01a20caf-86fc-7d2c-843b-7f77741b606f', 4, 1795509159771358, 'card', '01a20caf-86fc-7bf7-938e-b3683a77ce0e', NULL, NULL, 'z1cxwwk3qq');
INSERT INTO feed VALUES ('01a20caf-876f-7e73-8bf3-9d8f5f859b86', 4, 1795509159872574, 'card', '01a20caf-876f-71a4-95ca-36520b96d0d6', NULL, NULL, 'tz2tdw1y3d');
DELETE FROM calls;
INSERT INTO calls VALUES ('01a20caf-2c0b-717f-99cf-04f89947f540', '01a20caf-2bfd-7fda-8aa0-a4a3298e41b5', 3, '01a20caf-2bfd-7c52-9e4b-24f08f134043', 'shell', 'effect', 'ended', 'ok', 'a46d5e14bfda5bc599d5f03462d487b0adbcb575a45b350d9ffead4fad5acac7', 'sk654ws7z7', 'always', 'owner', 18342, 18342, 845525, NULL, NULL, 1, 1795509136579979, 1795509136844233);
INSERT INTO calls VALUES ('01a20caf-3ce3-7b1a-a40a-4cda56933552', '01a20caf-3cc6-7b23-8756-0edd4ddae1d5', 3, '01a20caf-3cc6-703c-88c9-e3fd04f8edf5', 'shell', 'effect', 'unknown', NULL, 'a19bb0360206536af2ccad034af4bebe3ec161abb5d79422f08a3098ee9ae953', 'xhv9mkbq4f', NULL, NULL, 18435, 18435, 845941, NULL, NULL, 1, 1795509140737700, NULL);
INSERT INTO calls VALUES ('01a20caf-7f35-7266-b07b-d1fbb91a4d41', '01a20caf-7f1a-7744-a08f-633ca1731faf', 3, '01a20caf-7f1a-7143-8592-f486c0b79328', 'shell', 'effect', 'waiting', NULL, '0c2543a535954fd7581ce975f6f9fecda483c63c1dba67481da6d228661a9c21', '89zcme1e7y', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO calls VALUES ('01a20caf-7f81-75f6-ba91-e20cf6fb7bca', '01a20caf-7f67-7c41-b2be-c7ebc775b5df', 4, '01a20caf-7f67-74f5-8d4c-4733a803e01c', 'shell', 'effect', 'waiting', NULL, '9a1bad03c515c69d3e09e9a4c428e450c32f98cc4801d59cfbb10dc469ddfd8c', 'c75hrnd95k', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO calls VALUES ('01a20caf-7f81-79bf-ba10-bc0a315712c0', '01a20caf-7f67-7c41-b2be-c7ebc775b5df', 3, '01a20caf-7f67-74f5-8d4c-4733a803e01c', 'shell', 'effect', 'waiting', NULL, 'd21385a8d272658f932d82a112ef4d83f5ee703742b96100d89cec44d35bb93a', 'c75hrnd95k', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO calls VALUES ('01a20caf-7fd0-7774-842a-a98865098398', '01a20caf-7fbb-7948-86e4-cc0d92c38987', 3, '01a20caf-7fbb-72ab-9974-9789a6eb70b1', 'ask_user', 'none', 'waiting', NULL, '', 'd0kn3q5rzs', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO calls VALUES ('01a20caf-8016-7f92-baf9-b067c0dbfb2a', '01a20caf-8003-70d9-8fe3-56aa9b9c7015', 3, '01a20caf-8003-7b7e-9489-6baf22e5e53a', 'time', 'none', 'ended', 'ok', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 1795509157919881, 1795509157920851);
INSERT INTO calls VALUES ('01a20caf-8030-78b1-8b09-ad185bb3671c', '01a20caf-8003-70d9-8fe3-56aa9b9c7015', 6, '01a20caf-8003-7b7e-9489-6baf22e5e53a', 'time', 'none', 'ended', 'ok', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2, 1795509157940685, 1795509157942935);
INSERT INTO calls VALUES ('01a20caf-8053-7a28-9cae-17e6ebd74ed3', '01a20caf-8003-70d9-8fe3-56aa9b9c7015', 9, '01a20caf-8003-7b7e-9489-6baf22e5e53a', 'time', 'none', 'ended', 'ok', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 3, 1795509157983227, 1795509157983759);
INSERT INTO calls VALUES ('01a20caf-8090-79e7-ac50-0ee3ddf5e1fa', '01a20caf-8081-7471-9cb8-3c575b727028', 3, '01a20caf-8081-7daa-9ad7-6b7728f1de2c', 'write_file', 'effect', 'waiting', NULL, '60ffe24c1fc3911d55eaf63b8d78ee6e4f525ef528764de6d0a8f3ae7dc00e5a.32d61887fed5b99dbaee79def08d6c15ece6b17fe14cce650771cbb6296067c4', '2fhbwx59ge', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO calls VALUES ('01a20caf-80e2-7d50-a2d5-a975f91883c1', '01a20caf-80d6-7d03-b10c-b42c2b9efd5b', 3, '01a20caf-80d6-7336-a8d0-caa3d9fdc5fd', 'shell', 'effect', 'running', NULL, '0230dccd1b8030a8a3e163922e0c9bac9529ccdf4141239a9206dde5c628fe46', 'r1ma7en469', 'approve', 'owner', 19061, 19061, 847686, NULL, NULL, 1, 1795509158188626, NULL);
INSERT INTO calls VALUES ('01a20caf-8738-70a4-8b23-b88e0519c203', '01a20caf-86fc-7d2c-843b-7f77741b606f', 3, '01a20caf-86fc-7bf7-938e-b3683a77ce0e', 'tool_auth', 'none', 'waiting', NULL, '', 'z1cxwwk3qq', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO calls VALUES ('01a20caf-87af-7b23-920d-b83b65be5442', '01a20caf-876f-7e73-8bf3-9d8f5f859b86', 3, '01a20caf-876f-71a4-95ca-36520b96d0d6', 'shell', 'effect', 'waiting', NULL, '75e2af0b448fea78635c93123f7c0ea587816bc93f1db49f9fb2dade94536364', 'tz2tdw1y3d', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL);
DELETE FROM gates;
INSERT INTO gates VALUES ('2fhbwx59ge', 'approval', 'open', '01a20caf-8081-7471-9cb8-3c575b727028', '01a20caf-8081-7daa-9ad7-6b7728f1de2c', '01a20caf-8090-79e7-ac50-0ee3ddf5e1fa', '01a20cae-a386-71b0-b1cc-8329476cc6fb', 'May I run write_file?
There is no grant for this call of write_file.', 'path: quorum.txt
content: by two
    ', 'approve deny', '["owner","01a20cae-c080-7a85-896b-1f0864b9cfb5"]', 2, 0, '60ffe24c1fc3911d55eaf63b8d78ee6e4f525ef528764de6d0a8f3ae7dc00e5a.32d61887fed5b99dbaee79def08d6c15ece6b17fe14cce650771cbb6296067c4', 'write_file', 'quorum.txt', 1795509158040841, 1795595558040841, NULL, NULL, NULL, NULL, NULL, 0, 1795591958040841, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO gates VALUES ('89zcme1e7y', 'approval', 'open', '01a20caf-7f1a-7744-a08f-633ca1731faf', '01a20caf-7f1a-7143-8592-f486c0b79328', '01a20caf-7f35-7266-b07b-d1fbb91a4d41', 'owner', 'May I run shell?
There is no grant for this call of shell.', 'command: echo approved >> approved.txt
timeout_s: 30', 'approve deny always', '[]', 1, 0, '0c2543a535954fd7581ce975f6f9fecda483c63c1dba67481da6d228661a9c21', 'shell', '>> approved.txt echo approved', 1795509157702490, 1795595557702490, NULL, NULL, NULL, NULL, NULL, 0, 1795591957702490, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO gates VALUES ('amdym4p473', 'approval', 'closed', '01a20caf-3cc6-7b23-8756-0edd4ddae1d5', '01a20caf-3cc6-703c-88c9-e3fd04f8edf5', '01a20caf-3ce3-7b1a-a40a-4cda56933552', 'owner', 'May I run shell?
There is no grant for this call of shell.', 'command: echo unknown >> unknown.txt && sleep 600
timeout_s: 30', 'approve deny always', '[]', 1, 0, 'a19bb0360206536af2ccad034af4bebe3ec161abb5d79422f08a3098ee9ae953', 'shell', '>> unknown.txt echo unknown
@sleep', 1795509140712538, 1795595540712538, 'approve', 'Approved by owner', 'owner', 1795509140727799, NULL, 0, 1795591940712538, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO gates VALUES ('c75hrnd95k', 'approval', 'open', '01a20caf-7f67-7c41-b2be-c7ebc775b5df', '01a20caf-7f67-74f5-8d4c-4733a803e01c', NULL, 'owner', 'May I run these 2 calls?', '', 'approve deny one_by_one', '[]', 1, 0, '01a77e107e3be4d4059a767fde3bd6a5abb0968778874c471b47d51ec6b7636d', NULL, NULL, 1795509157795520, 1795595557795520, NULL, NULL, NULL, NULL, NULL, 0, 1795591957795520, '[]', NULL, 0, '[["01a20caf-7f81-79bf-ba10-bc0a315712c0", "shell", "There is no grant for this call of shell.", "command: echo one >> joint.txt\ntimeout_s: 30", "d21385a8d272658f932d82a112ef4d83f5ee703742b96100d89cec44d35bb93a"], ["01a20caf-7f81-75f6-ba91-e20cf6fb7bca", "shell", "There is no grant for this call of shell.", "command: echo two >> joint.txt\ntimeout_s: 30", "9a1bad03c515c69d3e09e9a4c428e450c32f98cc4801d59cfbb10dc469ddfd8c"]]', NULL, 0, NULL, 0);
INSERT INTO gates VALUES ('d0kn3q5rzs', 'question', 'open', '01a20caf-7fbb-7948-86e4-cc0d92c38987', '01a20caf-7fbb-72ab-9974-9789a6eb70b1', '01a20caf-7fd0-7774-842a-a98865098398', 'owner', 'Which color?', '', '', '["owner"]', 1, 0, '', 'ask_user', NULL, 1795509157860906, 1795595557860906, NULL, NULL, NULL, NULL, '["red","dark green"]', 0, 1795591957860906, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO gates VALUES ('mrzv5g79vc', 'continue', 'open', '01a20caf-8003-70d9-8fe3-56aa9b9c7015', '01a20caf-8003-7b7e-9489-6baf22e5e53a', NULL, 'owner', 'I have used 3 rounds of tool calls on this. Shall I continue?', '', 'continue stop', '[]', 1, 0, '', NULL, NULL, 1795509157989092, 1795595557989092, NULL, NULL, NULL, NULL, NULL, 0, 1795591957989092, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO gates VALUES ('r1ma7en469', 'approval', 'closed', '01a20caf-80d6-7d03-b10c-b42c2b9efd5b', '01a20caf-80d6-7336-a8d0-caa3d9fdc5fd', '01a20caf-80e2-7d50-a2d5-a975f91883c1', 'owner', 'May I run shell?
There is no grant for this call of shell.', 'command: echo running >> running.txt && sleep 600
timeout_s: 30', 'approve deny always', '[]', 1, 0, '0230dccd1b8030a8a3e163922e0c9bac9529ccdf4141239a9206dde5c628fe46', 'shell', '>> running.txt echo running
@sleep', 1795509158129367, 1795595558129367, 'approve', 'Approved by owner', 'owner', 1795509158159771, NULL, 0, 1795591958129367, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO gates VALUES ('sk654ws7z7', 'approval', 'closed', '01a20caf-2bfd-7fda-8aa0-a4a3298e41b5', '01a20caf-2bfd-7c52-9e4b-24f08f134043', '01a20caf-2c0b-717f-99cf-04f89947f540', 'owner', 'May I run shell?
There is no grant for this call of shell.', 'command: echo granted >> granted.txt
timeout_s: 30', 'approve deny always', '[]', 1, 0, 'a46d5e14bfda5bc599d5f03462d487b0adbcb575a45b350d9ffead4fad5acac7', 'shell', '>> granted.txt echo granted', 1795509136556305, 1795595536556305, 'always', 'Always allowed by owner', 'owner', 1795509136571518, NULL, 0, 1795591936556305, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO gates VALUES ('tz2tdw1y3d', 'approval', 'open', '01a20caf-876f-7e73-8bf3-9d8f5f859b86', '01a20caf-876f-71a4-95ca-36520b96d0d6', '01a20caf-87af-7b23-920d-b83b65be5442', '01a20cae-ba09-7680-979b-a95d627f3b9d', 'May I run shell?
There is no grant for this call of shell.', 'command: echo late >> late.txt
timeout_s: 30', 'approve deny always', '[]', 1, 0, '75e2af0b448fea78635c93123f7c0ea587816bc93f1db49f9fb2dade94536364', 'shell', '>> late.txt echo late', 1795509159869165, 1795595559869165, NULL, NULL, NULL, NULL, NULL, 0, 1795591959869165, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO gates VALUES ('xhv9mkbq4f', 'unknown_outcome', 'open', '01a20caf-3cc6-7b23-8756-0edd4ddae1d5', '01a20caf-3cc6-703c-88c9-e3fd04f8edf5', '01a20caf-3ce3-7b1a-a40a-4cda56933552', 'owner', 'I was interrupted while running shell and don''t know whether it took effect.', 'command: echo unknown >> unknown.txt && sleep 600
timeout_s: 30', 'happened retry skip', '[]', 1, 0, 'a19bb0360206536af2ccad034af4bebe3ec161abb5d79422f08a3098ee9ae953', 'shell', NULL, 1795509156547215, 1798101156547215, NULL, NULL, NULL, NULL, NULL, 0, 1798097556547215, '[]', NULL, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO gates VALUES ('z1cxwwk3qq', 'question', 'open', '01a20caf-86fc-7d2c-843b-7f77741b606f', '01a20caf-86fc-7bf7-938e-b3683a77ce0e', '01a20caf-8738-70a4-8b23-b88e0519c203', 'owner', 'Please send me the credential “shed”: to open the shed', '', '', '["owner"]', 1, 0, '', 'tool_auth', NULL, 1795509159769391, 1795595559769391, NULL, NULL, NULL, NULL, '["Cancel"]', 1, 1795591959769391, '[]', NULL, 0, NULL, 'shed', 0, NULL, 1);
DELETE FROM votes;
INSERT INTO votes VALUES ('2fhbwx59ge', '01a20cae-c080-7a85-896b-1f0864b9cfb5', 'Lea', 'approve', 1795509158079689);
INSERT INTO votes VALUES ('amdym4p473', 'owner', 'owner', 'approve', 1795509140727610);
INSERT INTO votes VALUES ('r1ma7en469', 'owner', 'owner', 'approve', 1795509158159568);
INSERT INTO votes VALUES ('sk654ws7z7', 'owner', 'owner', 'always', 1795509136571297);
DELETE FROM grants;
INSERT INTO grants VALUES ('01a20caf-2cba-7788-a999-096599cda6e0', 'owner', 'shell', '>> granted.txt echo granted', 'user', NULL, 'owner', 1795509136569472, NULL);
DELETE FROM tool_settings;
DELETE FROM tool_uses;
INSERT INTO tool_uses VALUES (1, 'owner', 'shell', 1795509136579875);
INSERT INTO tool_uses VALUES (2, 'owner', 'shell', 1795509140737638);
INSERT INTO tool_uses VALUES (3, 'owner', 'shell', 1795509157266085);
INSERT INTO tool_uses VALUES (4, 'owner', 'shell', 1795509158188574);
DELETE FROM tool_pause;
DELETE FROM secrets;
INSERT INTO secrets VALUES ('garden', 'f01167b1120596db', X'CB551A7898F6AD4DF7B21D6A3C486325C97CA429D6A7966B49ED6EDAF18E09628037F40B4F8488A67B49C28040872370FF', 1795509112340513);
DELETE FROM outbox;
INSERT INTO outbox VALUES (1, 'telegram', '7', '{"blocks":[["plain","Hello. Send me a message and I will answer. If an action needs your approval, I show buttons first. Type /help for the commands."]]}', 'sent', 1, '01a20caf-2bb4-76b1-a35f-bdd1791f3313', '["7:2"]', '00000000000000000002', NULL, NULL, NULL, NULL, 1, 0, 1, 0, NULL, 1795509136309006, 1795509136352305, 1795509136309006, NULL, 1, NULL);
INSERT INTO outbox VALUES (2, 'telegram', '8', '{"blocks":[["plain","Hello. Send me a message and I will answer. If an action needs your approval, I show buttons first. Type /help for the commands."]]}', 'sent', 1, '01a20caf-2be0-72b7-8141-1d08b8f8637b', '["8:4"]', '00000000000000000004', NULL, NULL, NULL, NULL, 2, 0, 1, 0, NULL, 1795509136352994, 1795509136364055, 1795509136352994, NULL, 2, NULL);
INSERT INTO outbox VALUES (3, 'telegram', '9', '{"blocks":[["plain","Hello. Send me a message and I will answer. If an action needs your approval, I show buttons first. Type /help for the commands."]]}', 'sent', 1, '01a20caf-2bec-7ec4-8ff6-02f5047dcb71', '["9:6"]', '00000000000000000006', NULL, NULL, NULL, NULL, 3, 0, 1, 0, NULL, 1795509136364584, 1795509136371147, 1795509136364584, NULL, 3, NULL);
INSERT INTO outbox VALUES (4, 'telegram', '10', '{"blocks":[["plain","Hello. Send me a message and I will answer. If an action needs your approval, I show buttons first. Type /help for the commands."]]}', 'sent', 1, '01a20caf-2bf3-7c6c-957a-34c14aa4b5dd', '["10:8"]', '00000000000000000008', NULL, NULL, NULL, NULL, 4, 0, 1, 0, NULL, 1795509136371729, 1795509136375990, 1795509136371729, NULL, 4, NULL);
INSERT INTO outbox VALUES (5, 'telegram', '11', '{"blocks":[["plain","Hello. Send me a message and I will answer. If an action needs your approval, I show buttons first. Type /help for the commands."]]}', 'sent', 1, '01a20caf-2bf8-7990-917e-76b19f2b07f4', '["11:10"]', '00000000000000000010', NULL, NULL, NULL, NULL, 5, 0, 1, 0, NULL, 1795509136376533, 1795509136380785, 1795509136376533, NULL, 5, NULL);
INSERT INTO outbox VALUES (6, 'telegram', '-1000002000001:10', '{"blocks":[["plain","May I run shell?\nThere is no grant for this call of shell."],["code","command: echo granted >> granted.txt\ntimeout_s: 30",""],["plain","Always allow would cover shell: >> granted.txt echo granted\nor type /approve sk654ws7z7 or /deny sk654ws7z7"]],"choices":["Approve","Deny","Always allow"],"gate_id":"sk654ws7z7","reply_to":"-1000002000001:11","editable":true}', 'sent', 1, '01a20caf-2cac-78bf-89f4-c9f26dbc5848', '["-1000002000001:12"]', '00000000000000000012', NULL, NULL, 'sk654ws7z7', '01a20caf-2bfd-7c52-9e4b-24f08f134043', NULL, 0, 1, 0, NULL, 1795509136559707, 1795509136569693, 1795509136563301, NULL, 6, NULL);
INSERT INTO outbox VALUES (7, 'telegram', '-1000002000001:10', '{"blocks":[["plain","May I run shell?\nThere is no grant for this call of shell."],["code","command: echo granted >> granted.txt\ntimeout_s: 30",""]],"gate_id":"sk654ws7z7","outcome":"Always allowed by owner"}', 'sent', 1, '01a20caf-2cbb-781e-a841-46c9ef8a53a9', '[]', NULL, 6, NULL, 'sk654ws7z7', NULL, NULL, 0, 1, 0, NULL, 1795509136571955, 1795509140638929, 1795509136574102, NULL, 7, NULL);
INSERT INTO outbox VALUES (8, 'telegram', '-1000002000001:10', '{"blocks":[["markdown","Done: <tool_output name=\"shell\" id=\"5abdeba3666825f380a94d2a\">\nexit code: 0\n\n</tool_output id=\"5abdeba3666825f380a94d2a\">"]],"reply_to":"-1000002000001:11"}', 'sent', 1, '01a20caf-3c96-7813-8573-158819357ba3', '["-1000002000001:13"]', '00000000000000000013', NULL, NULL, NULL, '01a20caf-2bfd-7c52-9e4b-24f08f134043', NULL, 0, 1, 0, NULL, 1795509140639575, 1795509140665501, 1795509140658947, NULL, 7, NULL);
INSERT INTO outbox VALUES (9, 'telegram', '7', '{"blocks":[["plain","🔔 Routine “watch” has something for you"],["markdown","The tap drips.\n\n# Trigger of this run\nA person asked for this run."]],"choices":["Details","Pause","Run again"],"gate_id":"94b73my83q"}', 'sent', 1, '01a20caf-3cb7-74e5-904d-5e68efe0a581', '["7:11"]', '00000000000000000011', NULL, NULL, NULL, NULL, NULL, 0, 1, 0, NULL, 1795509140663467, 1795509140677867, 1795509140665622, NULL, 7, NULL);
INSERT INTO outbox VALUES (10, 'telegram', '-1000002000001:5', '{"blocks":[["plain","May I run shell?\nThere is no grant for this call of shell."],["code","command: echo unknown >> unknown.txt && sleep 600\ntimeout_s: 30",""],["plain","Always allow would cover shell: >> unknown.txt echo unknown; sleep with the options listed as safe\nor type /approve amdym4p473 or /deny amdym4p473"]],"choices":["Approve","Deny","Always allow"],"gate_id":"amdym4p473","reply_to":"-1000002000001:14","editable":true}', 'sent', 1, '01a20caf-3ce8-71df-a59e-631b2c69efb6', '["-1000002000001:15"]', '00000000000000000015', NULL, NULL, 'amdym4p473', '01a20caf-3cc6-703c-88c9-e3fd04f8edf5', NULL, 0, 1, 0, NULL, 1795509140713585, 1795509140726815, 1795509140717358, NULL, 8, NULL);
INSERT INTO outbox VALUES (11, 'telegram', '-1000002000001:5', '{"blocks":[["plain","May I run shell?\nThere is no grant for this call of shell."],["code","command: echo unknown >> unknown.txt && sleep 600\ntimeout_s: 30",""]],"gate_id":"amdym4p473","outcome":"Approved by owner"}', 'sent', 1, '01a20caf-3cf8-7280-a936-60736a0334d9', '[]', NULL, 10, NULL, 'amdym4p473', NULL, NULL, 0, 1, 0, NULL, 1795509140728116, 1795509140745075, 1795509140731728, NULL, 9, NULL);
INSERT INTO outbox VALUES (12, 'telegram', '-1000002000001:5', '{"blocks":[["plain","I was interrupted while running shell and don''t know whether it took effect."],["code","command: echo unknown >> unknown.txt && sleep 600\ntimeout_s: 30",""]],"choices":["It happened","Run it again","Skip"],"gate_id":"xhv9mkbq4f","reply_to":"-1000002000001:14"}', 'sent', 1, '01a20caf-7ac3-7848-b97c-79613dbf9eb0', '["-1000002000001:16"]', '00000000000000000016', NULL, NULL, 'xhv9mkbq4f', '01a20caf-3cc6-703c-88c9-e3fd04f8edf5', NULL, 0, 1, 0, NULL, 1795509156548998, 1795509156947106, 1795509156914790, NULL, 9, NULL);
INSERT INTO outbox VALUES (13, 'telegram', '-1000002000001:2', '{"blocks":[["plain","May I run shell?\nThere is no grant for this call of shell."],["code","command: echo approved >> approved.txt\ntimeout_s: 30",""],["plain","Always allow would cover shell: >> approved.txt echo approved\nor type /approve 89zcme1e7y or /deny 89zcme1e7y"]],"choices":["Approve","Deny","Always allow"],"gate_id":"89zcme1e7y","reply_to":"-1000002000001:17","editable":true}', 'sent', 1, '01a20caf-7f46-7db7-8d71-39e112306c22', '["-1000002000001:18"]', '00000000000000000018', NULL, NULL, '89zcme1e7y', '01a20caf-7f1a-7143-8592-f486c0b79328', NULL, 0, 1, 0, NULL, 1795509157708064, 1795509157735061, 1795509157718094, NULL, 10, NULL);
INSERT INTO outbox VALUES (14, 'telegram', '-1000002000001:3', '{"blocks":[["plain","May I run these 2 calls?"],["plain","1. shell: There is no grant for this call of shell."],["code","command: echo one >> joint.txt\ntimeout_s: 30",""],["plain","2. shell: There is no grant for this call of shell."],["code","command: echo two >> joint.txt\ntimeout_s: 30",""],["plain","or type /approve c75hrnd95k or /deny c75hrnd95k"]],"choices":["Approve all","Deny all","One by one"],"gate_id":"c75hrnd95k","reply_to":"-1000002000001:19"}', 'sent', 1, '01a20caf-7fa3-7945-9998-831e7e4f8f10', '["-1000002000001:20"]', '00000000000000000020', NULL, NULL, 'c75hrnd95k', '01a20caf-7f67-74f5-8d4c-4733a803e01c', NULL, 0, 1, 0, NULL, 1795509157803439, 1795509157819071, 1795509157808259, NULL, 11, NULL);
INSERT INTO outbox VALUES (15, 'telegram', '-1000002000001:4', '{"blocks":[["plain","Which color?"]],"choices":["red","dark green"],"gate_id":"d0kn3q5rzs","reply_to":"-1000002000001:21"}', 'sent', 1, '01a20caf-7fe5-7930-b59a-f38cf91a1a16', '["-1000002000001:22"]', '00000000000000000022', NULL, NULL, 'd0kn3q5rzs', '01a20caf-7fbb-72ab-9974-9789a6eb70b1', NULL, 0, 1, 0, NULL, 1795509157862787, 1795509157891125, 1795509157883126, NULL, 12, NULL);
INSERT INTO outbox VALUES (16, 'telegram', '-1000002000001:6', '{"blocks":[["plain","I have used 3 rounds of tool calls on this. Shall I continue?"]],"choices":["Continue","Stop"],"gate_id":"mrzv5g79vc","reply_to":"-1000002000001:23"}', 'sent', 1, '01a20caf-8065-754e-aaad-8bb9f843eebc', '["-1000002000001:24"]', '00000000000000000024', NULL, NULL, 'mrzv5g79vc', '01a20caf-8003-7b7e-9489-6baf22e5e53a', NULL, 0, 1, 0, NULL, 1795509157989746, 1795509158017248, 1795509158001884, NULL, 13, NULL);
INSERT INTO outbox VALUES (17, 'telegram', '8', '{"blocks":[["plain","May I run write_file?\nThere is no grant for this call of write_file."],["code","path: quorum.txt\ncontent: by two\n    ",""],["plain","2 people must approve.\nor type /approve 2fhbwx59ge or /deny 2fhbwx59ge"]],"choices":["Approve","Deny"],"gate_id":"2fhbwx59ge","editable":true}', 'sent', 1, '01a20caf-809c-733b-9159-a024d6cc7887', '["8:13"]', '00000000000000000013', NULL, NULL, '2fhbwx59ge', '01a20caf-8081-7daa-9ad7-6b7728f1de2c', NULL, 0, 1, 0, NULL, 1795509158047272, 1795509158073119, 1795509158052262, NULL, 14, NULL);
INSERT INTO outbox VALUES (18, 'telegram', '7', '{"blocks":[["plain","May I run write_file?\nThere is no grant for this call of write_file."],["code","path: quorum.txt\ncontent: by two\n    ",""],["plain","2 people must approve.\nor type /approve 2fhbwx59ge or /deny 2fhbwx59ge"]],"choices":["Approve","Deny"],"gate_id":"2fhbwx59ge","editable":true}', 'sent', 1, '01a20caf-809c-719a-b144-d562a7f11e60', '["7:14"]', '00000000000000000014', NULL, NULL, '2fhbwx59ge', '01a20caf-8081-7daa-9ad7-6b7728f1de2c', NULL, 0, 1, 0, NULL, 1795509158047272, 1795509158073235, 1795509158052462, NULL, 14, NULL);
INSERT INTO outbox VALUES (19, 'telegram', '9', '{"blocks":[["plain","May I run write_file?\nThere is no grant for this call of write_file."],["code","path: quorum.txt\ncontent: by two\n    ",""],["plain","2 people must approve.\nor type /approve 2fhbwx59ge or /deny 2fhbwx59ge"]],"choices":["Approve","Deny"],"gate_id":"2fhbwx59ge","editable":true}', 'sent', 1, '01a20caf-809c-78b0-ad2d-30bfc6530945', '["9:15"]', '00000000000000000015', NULL, NULL, '2fhbwx59ge', '01a20caf-8081-7daa-9ad7-6b7728f1de2c', NULL, 0, 1, 0, NULL, 1795509158047272, 1795509158073302, 1795509158052602, NULL, 14, NULL);
INSERT INTO outbox VALUES (20, 'telegram', '8', '{"blocks":[["plain","Your message is queued. I am waiting for a decision on: May I run write_file?\nThere is no grant for this call of write_file.\nUse the buttons, or type /approve 2fhbwx59ge or /deny 2fhbwx59ge. To cancel, type /stop."]]}', 'sent', 1, '01a20caf-80d5-767a-95ff-da7145c824f5', '["8:17"]', '00000000000000000017', NULL, NULL, NULL, NULL, 16, 0, 1, 0, NULL, 1795509158101645, 1795509158135112, 1795509158101645, NULL, 16, NULL);
INSERT INTO outbox VALUES (21, 'telegram', '-1000002000001:7', '{"blocks":[["plain","May I run shell?\nThere is no grant for this call of shell."],["code","command: echo running >> running.txt && sleep 600\ntimeout_s: 30",""],["plain","Always allow would cover shell: >> running.txt echo running; sleep with the options listed as safe\nor type /approve r1ma7en469 or /deny r1ma7en469"]],"choices":["Approve","Deny","Always allow"],"gate_id":"r1ma7en469","reply_to":"-1000002000001:25","editable":true}', 'sent', 1, '01a20caf-80f1-7a14-b5ba-b5b2bbd90eee', '["-1000002000001:26"]', '00000000000000000026', NULL, NULL, 'r1ma7en469', '01a20caf-80d6-7336-a8d0-caa3d9fdc5fd', NULL, 0, 1, 0, NULL, 1795509158135795, 1795509158158910, 1795509158143691, NULL, 17, NULL);
INSERT INTO outbox VALUES (22, 'telegram', '-1000002000001:7', '{"blocks":[["plain","May I run shell?\nThere is no grant for this call of shell."],["code","command: echo running >> running.txt && sleep 600\ntimeout_s: 30",""]],"gate_id":"r1ma7en469","outcome":"Approved by owner"}', 'sent', 1, '01a20caf-8110-7476-acf3-96b75a3e8e18', '[]', NULL, 21, NULL, 'r1ma7en469', NULL, NULL, 0, 1, 0, NULL, 1795509158160461, 1795509158207340, 1795509158187131, NULL, 18, NULL);
INSERT INTO outbox VALUES (23, 'telegram', '10', '{"blocks":[["markdown","Sent to Dan."]]}', 'sending', 0, '01a20caf-82ab-7399-a62b-36b0609be1d9', '[]', NULL, NULL, NULL, NULL, '01a20caf-828b-7119-848a-0a9ff1bffa95', NULL, 0, 1, 0, NULL, 1795509158599434, NULL, 1795509158599434, NULL, 20, NULL);
INSERT INTO outbox VALUES (24, 'telegram', '-1000002000001:9', '{"blocks":[],"reply_to":"-1000002000001:28"}', 'streaming', 0, '01a20caf-86ca-77d9-8349-2352283624c9', '["-1000002000001:29"]', '00000000000000000029', NULL, NULL, NULL, '01a20caf-82d6-7585-9413-f6e664ee5361', NULL, 0, 1, 0, NULL, 1795509159626152, 1795509159666930, 1795509159626152, NULL, 21, NULL);
INSERT INTO outbox VALUES (25, 'telegram', '7', '{"blocks":[["plain","Please send me the credential “shed”: to open the shed"],["plain","Send the credential as your next message, within five minutes. It goes into the vault; the model and the logs don''t see it."]],"choices":["Cancel"],"gate_id":"z1cxwwk3qq"}', 'sent', 1, '01a20caf-8759-70b0-8dad-4511ceac129c', '["7:21"]', '00000000000000000021', NULL, NULL, 'z1cxwwk3qq', '01a20caf-86fc-7bf7-938e-b3683a77ce0e', NULL, 0, 1, 0, NULL, 1795509159771829, 1795509159789708, 1795509159775123, NULL, 22, NULL);
INSERT INTO outbox VALUES (26, 'telegram', '9', '{"blocks":[["markdown","Sent to Lea."]]}', 'ambiguous', 0, '01a20caf-87af-7652-95e7-fa1407578df2', '[]', NULL, NULL, NULL, NULL, '01a20caf-876e-7f08-93b8-32553d8b634f', NULL, 0, 1, 0, 'no response from Telegram (ServerDisconnectedError)', 1795509159859534, NULL, 1795509159859534, 1795509159867449, 24, NULL);
INSERT INTO outbox VALUES (27, 'telegram', '11', '{"blocks":[["plain","May I run shell?\nThere is no grant for this call of shell."],["code","command: echo late >> late.txt\ntimeout_s: 30",""],["plain","Always allow would cover shell: >> late.txt echo late\nor type /approve tz2tdw1y3d or /deny tz2tdw1y3d"]],"choices":["Approve","Deny","Always allow"],"gate_id":"tz2tdw1y3d","editable":true}', 'ambiguous', 0, '01a20caf-87bd-7d63-9cc6-544156befeae', '[]', NULL, NULL, NULL, 'tz2tdw1y3d', '01a20caf-876f-71a4-95ca-36520b96d0d6', NULL, 0, 1, 0, 'no response from Telegram (ServerDisconnectedError)', 1795509159872948, NULL, 1795509159892736, 1795509159909884, 24, NULL);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES ('outbox', 27);
DELETE FROM notices;
INSERT INTO notices VALUES ('routine:01a20caf-3983-7f78-abc7-3ccc5e9dda9f', 9, '[]', 1795509140663585);
DELETE FROM outbound_judged;
DELETE FROM routines;
INSERT INTO routines VALUES ('01a20cae-e8bb-741f-bd28-aa99e6b1eda0', 'owner', 'watch', 'manual', '{"name": "watch", "trigger": {"type": "manual"}, "action": {"type": "lightweight", "prompt": "say: The tap drips."}}', 1, NULL, NULL, NULL, 300000000, 1, 0, 0, NULL, 0, 1795509139844288, 1795509140655509, 1, 0, 0, '', '2158b1bdd10e3ffb981628b714320683cc191768eb7743fa7dd5e1ec5ed4d945', 1, 1795509119171517, 1795509119171517, NULL, NULL, NULL, NULL, NULL);
INSERT INTO routines VALUES ('01a20caf-0172-746c-8589-45662b747fb5', 'owner', 'nightly', 'manual', '{"name": "nightly", "trigger": {"type": "manual"}, "action": {"type": "lightweight", "prompt": "hold the routine"}}', 1, NULL, NULL, NULL, 300000000, 1, 0, 0, NULL, 0, 1795509145309521, NULL, 0, 0, 0, '', NULL, 1, 1795509125499362, 1795509125499362, NULL, NULL, NULL, NULL, NULL);
INSERT INTO routines VALUES ('01a20caf-1863-7cac-9d03-fb3cf97bdeb0', 'owner', 'tending', 'manual', '{"name": "tending", "trigger": {"type": "manual"}, "action": {"type": "lightweight", "prompt": "please run: echo tending >> tending.txt && sleep 600", "use_tools": true, "allowed_tools": ["shell"], "grants": ["shell *"]}, "guardrails": {"rerun_interrupted": true}}', 1, NULL, NULL, NULL, 300000000, 1, 0, 1, NULL, 0, 1795509150683083, NULL, 0, 0, 0, '', NULL, 1, 1795509131371549, 1795509131371549, NULL, NULL, NULL, NULL, NULL);
DELETE FROM routine_runs;
INSERT INTO routine_runs VALUES ('01a20caf-3983-7f78-abc7-3ccc5e9dda9f', '01a20cae-e8bb-741f-bd28-aa99e6b1eda0', 'manual:01a20caf-397e-78e2-9e29-2e467e0db85a', 'manual', '{"by": "manual", "request_id": "01a20caf-397e-78e2-9e29-2e467e0db85a", "user_id": "owner"}', NULL, 'attention', 1795509139843775, 1795509139843775, 1, NULL, 1795509139851313, 1795509140655509, 'The tap drips.

# Trigger of this run
A person asked for this run.', NULL, 180, 17, '🔔 Routine “watch” has something for you

The tap drips.

# Trigger of this run
A person asked for this run.', 'sent', 1795509140665712, '94b73my83q', 1795509139844290, 0, NULL, NULL);
INSERT INTO routine_runs VALUES ('01a20caf-4ecb-77fd-91fd-ed3c855288d0', '01a20caf-0172-746c-8589-45662b747fb5', 'manual:01a20caf-4ec3-7b8f-b5b8-d1d5a2cf6730', 'manual', '{"by": "manual", "request_id": "01a20caf-4ec3-7b8f-b5b8-d1d5a2cf6730", "user_id": "owner"}', NULL, 'running', 1795509145291156, 1795509145291156, 1, 1795509246968771, 1795509156983954, NULL, NULL, NULL, 0, 0, NULL, 'none', NULL, NULL, 1795509145309523, 0, NULL, NULL);
INSERT INTO routine_runs VALUES ('01a20caf-63b9-7a3a-af7d-290f17bdd64a', '01a20caf-1863-7cac-9d03-fb3cf97bdeb0', 'manual:01a20caf-63ac-79bd-8211-e797193d6db1', 'manual', '{"by": "manual", "request_id": "01a20caf-63ac-79bd-8211-e797193d6db1", "user_id": "owner"}', NULL, 'running', 1795509150649420, 1795509150649420, 1, 1795509246968771, 1795509156983954, NULL, NULL, NULL, 1803, 16, NULL, 'none', NULL, NULL, 1795509150683085, 0, '{"tools": ["time", "json", "echo", "message", "memory_search", "memory_read", "memory_tree", "list_dir", "glob", "read_attachment", "http", "routine_list", "routine_history", "tool_list", "tool_info", "shell"], "grants": ["shell *"], "rounds": 3}', NULL);
DELETE FROM run_steps;
INSERT INTO run_steps VALUES ('01a20caf-63b9-7a3a-af7d-290f17bdd64a', 1, 1795509157011110, 'user', 'please run: echo tending >> tending.txt && sleep 600

# Trigger of this run
A person asked for this run.', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO run_steps VALUES ('01a20caf-63b9-7a3a-af7d-290f17bdd64a', 2, 1795509157034491, 'assistant', '', NULL, NULL, '["openai","sim-1",""]', NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO run_steps VALUES ('01a20caf-63b9-7a3a-af7d-290f17bdd64a', 3, 1795509157034680, 'call', '{"command":"echo tending >> tending.txt && sleep 600"}', '01a20caf-7ca9-71c5-b81c-9d0114ac7e77', 'shell', NULL, 'effect', 'running', 19049, 19049, 847601, 1795509157266310, NULL);
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
INSERT INTO audit VALUES (1, 1795509098631265, 'policy', NULL, 'policy', NULL, '{"approvals":{"approvers":"requester","autonomous_denylist":["routine_create","routine_update","routine_delete","routine_fire","event_emit","secret_list","secret_delete"],"dangerous_operations":["delete","write","execute","modify"],"dangerous_tools":["shell","write_file","apply_patch","delete_file","http"],"expires_after_s":86400.0,"loop_timeout_s":300.0,"max_rounds":5,"max_tools":20,"preset":"auto_loop","quorum":1,"rules":[],"shell_per_hour":300,"shell_per_minute":30,"tool_timeout_s":30.0,"tool_timeouts":{"shell":120.0},"whitelist":["time","json","echo","ask_user","memory_write","memory_read","memory_search","memory_tree","tool_list","tool_info","message","read_attachment"]},"owner":"owner","owner_identities":["telegram:7"],"policy":{"ceiling":{},"ceiling_for":{},"disabled":[],"disabled_for":{},"unreadable":null},"roles":{"guest":{"daily_model_calls":50,"tools":["time","json","ask_user"]},"member":{"ask_owner":false,"tools":["shell","write_file","time"]}},"teams":{}}', 'ff8d048082deb066', X'C45B4EE972DD63E3096685EC3D4967052D99DC4FEBF61F20DF86AF46EA91FD41', 'ff8d048082deb066:2e1cb352fcf3d66d501977bad1f0c4fe399f7e0cc66a6edba7f3ea437d0d444b');
INSERT INTO audit VALUES (2, 1795509101450052, 'role', NULL, '01a20cae-a386-71b0-b1cc-8329476cc6fb', NULL, '{"before":null,"role":"member"}', 'ff8d048082deb066', X'066754C2B586D3CE5F6559ACF16B43E823DB45685B2D3BEBCDFE9CE90BAD1B91', 'ff8d048082deb066:b9cd81332fa8ec9da5f9a157aa6f42c309f167249370329ad1583048f5a1caf0');
INSERT INTO audit VALUES (3, 1795509101463186, 'linked', NULL, 'telegram:8', NULL, '{"user":"01a20cae-a386-71b0-b1cc-8329476cc6fb"}', 'ff8d048082deb066', X'5EF4A24694C13CCF4A2696E9D9B34A419B180430547C81CC04BFDF5E1E6EBE5C', 'ff8d048082deb066:4d40fa553aa9202e63e4dd46d98d6751f97d24fee57c5582e88d41cd90a5dd02');
INSERT INTO audit VALUES (4, 1795509104320944, 'role', NULL, '01a20cae-aec0-75e5-9682-4f897cacf5b5', NULL, '{"before":null,"role":"member"}', 'ff8d048082deb066', X'B382414C05C0C96C66312718BD181D85A33121DD92AA26EF3324D00C01050C28', 'ff8d048082deb066:de2eb1e9eef4530bf8f2bdd575c92e61e9e40bcf01377fc368af54c64961d02f');
INSERT INTO audit VALUES (5, 1795509104349115, 'linked', NULL, 'telegram:10', NULL, '{"user":"01a20cae-aec0-75e5-9682-4f897cacf5b5"}', 'ff8d048082deb066', X'013AFB8755FE2BE2BC05444CC81BA463C3B761C61C8FB8A4283A17F2D4DB9651', 'ff8d048082deb066:2cbfc8bcfc669f5ab7bb17ac91678e95681db3ffbec12e63924f0619a32b6dfb');
INSERT INTO audit VALUES (6, 1795509107210151, 'role', NULL, '01a20cae-ba09-7680-979b-a95d627f3b9d', NULL, '{"before":null,"role":"member"}', 'ff8d048082deb066', X'00942F93FE9C2A583BE0844E16F0A36287C45C2B372987B72046736B5647861B', 'ff8d048082deb066:67d81ae1d68849e2a309ebadfb2e31c2c32b9224aabec75926512f10e48f7809');
INSERT INTO audit VALUES (7, 1795509107240358, 'linked', NULL, 'telegram:11', NULL, '{"user":"01a20cae-ba09-7680-979b-a95d627f3b9d"}', 'ff8d048082deb066', X'3607015316BAF3E2811DF66F3CE8B9DA8392AAD9EE7BAAA10FFF28E6FF66EC5F', 'ff8d048082deb066:0d9696402cd6d3e48f11d2237cbdc84713cfe7dabeeee43a1895d2deb523bf5b');
INSERT INTO audit VALUES (8, 1795509108864751, 'role', NULL, '01a20cae-c080-7a85-896b-1f0864b9cfb5', NULL, '{"before":null,"role":"member"}', 'ff8d048082deb066', X'74C46E31F34B8F405E72E6DB8302616A3CC8CF729A16BF54953638C9D2391970', 'ff8d048082deb066:9d4f65e8f62c200bb14ed7709ae38b40ad48d558c100fc408e7dda1f5a4a9b53');
INSERT INTO audit VALUES (9, 1795509108878180, 'linked', NULL, 'telegram:9', NULL, '{"user":"01a20cae-c080-7a85-896b-1f0864b9cfb5"}', 'ff8d048082deb066', X'17A750A6E969C697791D9090EFF115736E01094158E10AACE9420657E6E8638B', 'ff8d048082deb066:6c75fbdee355f4fecf90dfcb2b17e9beb456b007bfb187ae4b7a97ea20b188fa');
INSERT INTO audit VALUES (10, 1795509112341096, 'secret_set', 'owner', 'garden', NULL, '{"key":"f01167b1120596db"}', 'ff8d048082deb066', X'B828E11BBBC2F2C3E8BCB32313934EB99BB2E2A1204500A3BD71BD57D889F871', 'ff8d048082deb066:e1403583601c3ae8453877a9dd9ea5cf53bf1a06993ab2cd3ed66fb9bd64baf3');
INSERT INTO audit VALUES (11, 1795509136307855, 'account', NULL, 'telegram:7', NULL, '{"event":"tg:123456:m:7:1","user":"owner","via":"config"}', 'ff8d048082deb066', X'A26C50F90BC39ADA92282530352B47CAD4D65988D1718CE4052792372D0440ED', 'ff8d048082deb066:e21fe945a5bd409faecb0b35bf8b7018f8b96a05bac418b9a37412e1ffd37fdb');
INSERT INTO audit VALUES (12, 1795509136559335, 'asked', 'owner', 'sk654ws7z7', '01a20caf-2bfd-7fda-8aa0-a4a3298e41b5', '{"about":"approval","approvers":[],"binding":"a46d5e14bfda5bc599d5f03462d487b0adbcb575a45b350d9ffead4fad5acac7","call":"01a20caf-2c0b-717f-99cf-04f89947f540","calls":[],"events":["tg:123456:m:-1000002000001:11"],"quorum":1,"tool":"shell"}', 'ff8d048082deb066', X'2C2B75622B453ED03605517BC09ED48B3BF9F14FD58140B37B376800A2FEDC88', 'ff8d048082deb066:26b9c92d79422a358c005adbd7f6fd1108ae8a17f0e9c61e5ee195f328e0c758');
INSERT INTO audit VALUES (13, 1795509136570975, 'granted', 'owner', '01a20caf-2cba-7788-a999-096599cda6e0', NULL, '{"event":"tg:123456:cb:4382000000000000001","expires_at":null,"pattern":">> granted.txt echo granted","scope":"user","tool":"shell","user":"owner"}', 'ff8d048082deb066', X'6F134432CECB5A901681E1CE7A560011C3B9F6CD57FFE6B537C8C9E88EF217E0', 'ff8d048082deb066:f09ed77d9c4d977d67b01ab3c5ce189a17c1bdb6e2d24b0217ac4b746460700a');
INSERT INTO audit VALUES (14, 1795509136571460, 'vote', 'owner', 'sk654ws7z7', '01a20caf-2bfd-7fda-8aa0-a4a3298e41b5', '{"answer":"always","event":"tg:123456:cb:4382000000000000001"}', 'ff8d048082deb066', X'8F1541F27364DF4A0EA4ADCC49A353ECD3D046E262BC9C915BA17745CAD78F2A', 'ff8d048082deb066:14d842f041ff61476e4322499b1e48adbc36c968939c2fe9ea564bed4762df55');
INSERT INTO audit VALUES (15, 1795509136571735, 'decided', 'owner', 'sk654ws7z7', '01a20caf-2bfd-7fda-8aa0-a4a3298e41b5', '{"about":"approval","call":"01a20caf-2c0b-717f-99cf-04f89947f540","event":"tg:123456:cb:4382000000000000001","events":["tg:123456:m:-1000002000001:11"],"outcome":"always"}', 'ff8d048082deb066', X'7A7558E7DF3E276C746515700E3252B80ED728AED815EE4E702AEBD1C3A617EB', 'ff8d048082deb066:66158bc0aaa7017d9b2e0f14b4becc35b88f7deb9ea94478ff420801755ae5a8');
INSERT INTO audit VALUES (16, 1795509136580115, 'started', 'owner', '01a20caf-2c0b-717f-99cf-04f89947f540', '01a20caf-2bfd-7fda-8aa0-a4a3298e41b5', '{"arguments":"0e7517107541c192fbac15e1efc3cc8e8b65bf0c859a306e08e5452c25d28e8e","events":["tg:123456:m:-1000002000001:11"],"tool":"shell"}', 'ff8d048082deb066', X'F9DD7EB12B70D5B2F58A5C000077B67DB7FDB630CAD71A50E5265F617F6AAD16', 'ff8d048082deb066:d6b17ee8be20121e2c7f3f709e09e0dcf9fd3ee1b06f24576343acac92581bf7');
INSERT INTO audit VALUES (17, 1795509136844580, 'ended', 'owner', '01a20caf-2c0b-717f-99cf-04f89947f540', '01a20caf-2bfd-7fda-8aa0-a4a3298e41b5', '{"arguments":"0e7517107541c192fbac15e1efc3cc8e8b65bf0c859a306e08e5452c25d28e8e","ended_at":1795509136844233,"events":["tg:123456:m:-1000002000001:11"],"started_at":1795509136579979,"status":"ok","tool":"shell"}', 'ff8d048082deb066', X'4B5F4C52360826531B3AEED876B1DBD1357C08F09F400312BEB99E6068EE78DF', 'ff8d048082deb066:efcd5eb43cea54dccc59d3efb045459d973a1099dc0e4878bcd99686f757b075');
INSERT INTO audit VALUES (18, 1795509137231318, 'policy', NULL, 'policy', NULL, '{"approvals":{"approvers":"requester","autonomous_denylist":["routine_create","routine_update","routine_delete","routine_fire","event_emit","secret_list","secret_delete"],"dangerous_operations":["delete","write","execute","modify"],"dangerous_tools":["shell","write_file","apply_patch","delete_file","http"],"expires_after_s":86400.0,"loop_timeout_s":300.0,"max_rounds":3,"max_tools":20,"preset":"auto_loop","quorum":1,"rules":[{"approvers":"team:ops","ask_in":"","escalate_after_s":null,"escalate_to":null,"not_requester":false,"quorum":2,"risk":null,"role":null,"tool":"write_file"}],"shell_per_hour":300,"shell_per_minute":30,"tool_timeout_s":30.0,"tool_timeouts":{"shell":120.0},"whitelist":["time","json","echo","ask_user","memory_write","memory_read","memory_search","memory_tree","tool_list","tool_info","message","read_attachment"]},"owner":"owner","owner_identities":["telegram:7"],"policy":{"ceiling":{},"ceiling_for":{},"disabled":[],"disabled_for":{},"unreadable":null},"roles":{"guest":{"daily_model_calls":50,"tools":["time","json","ask_user"]},"member":{"ask_owner":false,"tools":["shell","write_file","time"]}},"teams":{"ops":["owner","01a20cae-c080-7a85-896b-1f0864b9cfb5"]}}', 'ff8d048082deb066', X'0D5AF8A63A1C75FAE9956C46758A5B49E9217DEFC416A3C9DF930CA4B27E5134', 'ff8d048082deb066:13255e19ec104af4f4cb2199762ceb6f4595a836a4d4f7f1a41e56169dc82dc4');
INSERT INTO audit VALUES (19, 1795509140639798, 'answered', NULL, '01a20caf-2bfd-7c52-9e4b-24f08f134043', '01a20caf-2bfd-7fda-8aa0-a4a3298e41b5', '{"events":["tg:123456:m:-1000002000001:11"],"outbox":[8],"state":"done"}', 'ff8d048082deb066', X'A81CF006CB7237C898DD2829E6AD5AC4B5AB591B3B0C17AC6584D27783898DF7', 'ff8d048082deb066:46acb8ddc07990fca89d5df2f4293e2ad05769e126e81fd3079ed4e92262c771');
INSERT INTO audit VALUES (20, 1795509140713287, 'asked', 'owner', 'amdym4p473', '01a20caf-3cc6-7b23-8756-0edd4ddae1d5', '{"about":"approval","approvers":[],"binding":"a19bb0360206536af2ccad034af4bebe3ec161abb5d79422f08a3098ee9ae953","call":"01a20caf-3ce3-7b1a-a40a-4cda56933552","calls":[],"events":["tg:123456:m:-1000002000001:14"],"quorum":1,"tool":"shell"}', 'ff8d048082deb066', X'E310EC1428E664B9805C3A2FCBAB3889E3F188686A63D73B4EF63BF99AE9760D', 'ff8d048082deb066:504c312ca7119eb47a7973a8bd495c032161c273f264be55fb4b1fc67403df55');
INSERT INTO audit VALUES (21, 1795509140727667, 'vote', 'owner', 'amdym4p473', '01a20caf-3cc6-7b23-8756-0edd4ddae1d5', '{"answer":"approve","event":"tg:123456:cb:4382000000000000002"}', 'ff8d048082deb066', X'7E3C115671F8507DDA65A7CD5A1A00865E3F39ED5D37D71367D7BD4794F705E9', 'ff8d048082deb066:da944e4245a1b91f8c0936ac5b47fe9ccffdaa5c8266b53b73ad0dfb0d11f866');
INSERT INTO audit VALUES (22, 1795509140727957, 'decided', 'owner', 'amdym4p473', '01a20caf-3cc6-7b23-8756-0edd4ddae1d5', '{"about":"approval","call":"01a20caf-3ce3-7b1a-a40a-4cda56933552","event":"tg:123456:cb:4382000000000000002","events":["tg:123456:m:-1000002000001:14"],"outcome":"approve"}', 'ff8d048082deb066', X'194FF4AB6E8D17CB5E0A7DD81BB98DE845C2A8035DABAB12F4119F92E91DE6D3', 'ff8d048082deb066:a47fb0aa7962974d23b143dc393fe7fa68064fc5e05b876e7f28b12fb43a7e4a');
INSERT INTO audit VALUES (23, 1795509140737811, 'started', 'owner', '01a20caf-3ce3-7b1a-a40a-4cda56933552', '01a20caf-3cc6-7b23-8756-0edd4ddae1d5', '{"arguments":"b3438884bf205ef6108150b76f233f71bc4c354bee62f81b75f4cc46c06bf85a","events":["tg:123456:m:-1000002000001:14"],"tool":"shell"}', 'ff8d048082deb066', X'91B207AC8FB2A057135EC2CA3AC5962F398DC99092470858F0F8102431948A9B', 'ff8d048082deb066:03dcc291c3e652e523b8bc8e9f43fe1ba152afeaa04c4f3a17a50be98f4bfdb2');
INSERT INTO audit VALUES (24, 1795509156548586, 'asked', 'owner', 'xhv9mkbq4f', '01a20caf-3cc6-7b23-8756-0edd4ddae1d5', '{"about":"unknown_outcome","approvers":[],"binding":"a19bb0360206536af2ccad034af4bebe3ec161abb5d79422f08a3098ee9ae953","call":"01a20caf-3ce3-7b1a-a40a-4cda56933552","calls":[],"events":["tg:123456:m:-1000002000001:14"],"quorum":1,"tool":"shell"}', 'ff8d048082deb066', X'BCC6950117104A4FBB29F8B04DDC222B00E9A74080E98F8B1BCE572825619050', 'ff8d048082deb066:f2e49d6bbc8963a51454078d016e3c72b2984f9fcb8dcf1d70fad0220e0e20f5');
INSERT INTO audit VALUES (25, 1795509157266550, 'started', 'owner', '01a20caf-7ca9-71c5-b81c-9d0114ac7e77', NULL, '{"arguments":"7342968a6c456f4a803e8c695fab62f2e100cff8629012b1c630e3cc06add3cc","run":"01a20caf-63b9-7a3a-af7d-290f17bdd64a","tool":"shell","trigger":"manual:01a20caf-63ac-79bd-8211-e797193d6db1"}', 'ff8d048082deb066', X'2C4B562FAA8E367F52E21ECDD7896022F1F5A1EB82BC8E7EE2D95EA06A13B7FA', 'ff8d048082deb066:e3aa4efd824263b1d1a5d8e55bf990ae7471f8a0adc826caf7ce2975aad05b9b');
INSERT INTO audit VALUES (26, 1795509157707522, 'asked', 'owner', '89zcme1e7y', '01a20caf-7f1a-7744-a08f-633ca1731faf', '{"about":"approval","approvers":[],"binding":"0c2543a535954fd7581ce975f6f9fecda483c63c1dba67481da6d228661a9c21","call":"01a20caf-7f35-7266-b07b-d1fbb91a4d41","calls":[],"events":["tg:123456:m:-1000002000001:17"],"quorum":1,"tool":"shell"}', 'ff8d048082deb066', X'E0FE7BEDC7833BD8A9D38D65EB03419EABA6EA2E98E40DB82778B8A9DB6F8CB6', 'ff8d048082deb066:ab67f691e76f189bf4444b417f8e45dde1c0bb5aca8f18c8b81a5d183a9280a2');
INSERT INTO audit VALUES (27, 1795509157803171, 'asked', 'owner', 'c75hrnd95k', '01a20caf-7f67-7c41-b2be-c7ebc775b5df', '{"about":"approval","approvers":[],"binding":"01a77e107e3be4d4059a767fde3bd6a5abb0968778874c471b47d51ec6b7636d","call":null,"calls":["01a20caf-7f81-79bf-ba10-bc0a315712c0","01a20caf-7f81-75f6-ba91-e20cf6fb7bca"],"events":["tg:123456:m:-1000002000001:19"],"quorum":1,"tool":null}', 'ff8d048082deb066', X'FDFDDE0F14EFE6D71AFCA74744963784988A7C8B06063ABBE24134BF979F7F28', 'ff8d048082deb066:dbf8613f04a4be7f80ec2fbe4423224fcc173a123b9cf28757c397e4bbe55b20');
INSERT INTO audit VALUES (28, 1795509157862392, 'asked', 'owner', 'd0kn3q5rzs', '01a20caf-7fbb-7948-86e4-cc0d92c38987', '{"about":"question","approvers":["owner"],"binding":"","call":"01a20caf-7fd0-7774-842a-a98865098398","calls":[],"events":["tg:123456:m:-1000002000001:21"],"quorum":1,"tool":"ask_user"}', 'ff8d048082deb066', X'67DCC9AFEA1EA0F5812CDF5D35D5755BCE336C9C1A508B4DE989072CDDAEEB15', 'ff8d048082deb066:ed92e3c75f12aa696f88f437a50cff7e210f5aad267d5a4d877111f278820ad2');
INSERT INTO audit VALUES (29, 1795509157921257, 'ended', 'owner', '01a20caf-8016-7f92-baf9-b067c0dbfb2a', '01a20caf-8003-70d9-8fe3-56aa9b9c7015', '{"arguments":"76344aab8c8f1ad03c49bba5c451fcf938c5fa696166c782b82e979fd904e953","ended_at":1795509157920851,"events":["tg:123456:m:-1000002000001:23"],"started_at":1795509157919881,"status":"ok","tool":"time"}', 'ff8d048082deb066', X'94D0B2803FA40630CED348018A2539430456790C5EE4DB2B792F1045500A0729', 'ff8d048082deb066:158210182207d78b55f1d7d7bc8b9091ca2beab7153b6491db459e4f76f97c40');
INSERT INTO audit VALUES (30, 1795509157943133, 'ended', 'owner', '01a20caf-8030-78b1-8b09-ad185bb3671c', '01a20caf-8003-70d9-8fe3-56aa9b9c7015', '{"arguments":"76344aab8c8f1ad03c49bba5c451fcf938c5fa696166c782b82e979fd904e953","ended_at":1795509157942935,"events":["tg:123456:m:-1000002000001:23"],"started_at":1795509157940685,"status":"ok","tool":"time"}', 'ff8d048082deb066', X'ED8F0A4DF250C386EE1CD716DF42E99A67BB05C385DF622A4EA956821E10C392', 'ff8d048082deb066:320ecea287d71f676e8c3a635f4ed16f343afd382e7940f15c11a649a9c0dbf5');
INSERT INTO audit VALUES (31, 1795509157983885, 'ended', 'owner', '01a20caf-8053-7a28-9cae-17e6ebd74ed3', '01a20caf-8003-70d9-8fe3-56aa9b9c7015', '{"arguments":"76344aab8c8f1ad03c49bba5c451fcf938c5fa696166c782b82e979fd904e953","ended_at":1795509157983759,"events":["tg:123456:m:-1000002000001:23"],"started_at":1795509157983227,"status":"ok","tool":"time"}', 'ff8d048082deb066', X'1E65D46A9AC826EC648C13976A5D4C15528C436D3D21F46A6363979B413C7F7F', 'ff8d048082deb066:d7c8ffef7947fc6248615c8d818cd3d03f8a66910230dc56e012123a7e546b22');
INSERT INTO audit VALUES (32, 1795509157989590, 'asked', 'owner', 'mrzv5g79vc', '01a20caf-8003-70d9-8fe3-56aa9b9c7015', '{"about":"continue","approvers":[],"binding":"","call":null,"calls":[],"events":["tg:123456:m:-1000002000001:23"],"quorum":1,"tool":null}', 'ff8d048082deb066', X'84F4D542B034228F1638421D437DDB9A5A82863000CD0FFD4D809D0938A7DD94', 'ff8d048082deb066:8003ef4a7447eed83f5583a19dcf300e4e3a6ce92bb3e1a16d81b2fd7efbbf6f');
INSERT INTO audit VALUES (33, 1795509158047057, 'asked', '01a20cae-a386-71b0-b1cc-8329476cc6fb', '2fhbwx59ge', '01a20caf-8081-7471-9cb8-3c575b727028', '{"about":"approval","approvers":["owner","01a20cae-c080-7a85-896b-1f0864b9cfb5"],"binding":"60ffe24c1fc3911d55eaf63b8d78ee6e4f525ef528764de6d0a8f3ae7dc00e5a.32d61887fed5b99dbaee79def08d6c15ece6b17fe14cce650771cbb6296067c4","call":"01a20caf-8090-79e7-ac50-0ee3ddf5e1fa","calls":[],"events":["tg:123456:m:8:12"],"quorum":2,"tool":"write_file"}', 'ff8d048082deb066', X'77A0C87C867DDB29430EC507F09977D39C229C390DD8822BE0B06D9869D43479', 'ff8d048082deb066:40f03aa0c179f149e89d39a3438670faaaa8ef17828e8fc19d5bc5a040aba1d7');
INSERT INTO audit VALUES (34, 1795509158079912, 'vote', '01a20cae-c080-7a85-896b-1f0864b9cfb5', '2fhbwx59ge', '01a20caf-8081-7471-9cb8-3c575b727028', '{"answer":"approve","event":"tg:123456:cb:4382000000000000003"}', 'ff8d048082deb066', X'FE7DB2E58D244BDAD9FC0F4424C53A20B0D34643C6A67884AFBC24BBF902F35A', 'ff8d048082deb066:005a396d6b15ed8d21894e02e41da91b34c24810ad67b2c379a2394fb51be6c0');
INSERT INTO audit VALUES (35, 1795509158135509, 'asked', 'owner', 'r1ma7en469', '01a20caf-80d6-7d03-b10c-b42c2b9efd5b', '{"about":"approval","approvers":[],"binding":"0230dccd1b8030a8a3e163922e0c9bac9529ccdf4141239a9206dde5c628fe46","call":"01a20caf-80e2-7d50-a2d5-a975f91883c1","calls":[],"events":["tg:123456:m:-1000002000001:25"],"quorum":1,"tool":"shell"}', 'ff8d048082deb066', X'9676F969FAAEF0D17F4DF52E93B4D547DB54882CBF0C861F08094C97ECD88E0D', 'ff8d048082deb066:b2f0a32f39351cb9597cafef8face51c2d858d83f885194e96e4fb62ee9a4798');
INSERT INTO audit VALUES (36, 1795509158159621, 'vote', 'owner', 'r1ma7en469', '01a20caf-80d6-7d03-b10c-b42c2b9efd5b', '{"answer":"approve","event":"tg:123456:cb:4382000000000000004"}', 'ff8d048082deb066', X'DC3A0332E9EA9A80E1B027F09DD140C4374DB5089AD7B97CE5D2E62085CC377F', 'ff8d048082deb066:1f3676fb8d22ca18ea758b45d1dde9565188e584099181dece48ec31687f6ec1');
INSERT INTO audit VALUES (37, 1795509158160070, 'decided', 'owner', 'r1ma7en469', '01a20caf-80d6-7d03-b10c-b42c2b9efd5b', '{"about":"approval","call":"01a20caf-80e2-7d50-a2d5-a975f91883c1","event":"tg:123456:cb:4382000000000000004","events":["tg:123456:m:-1000002000001:25"],"outcome":"approve"}', 'ff8d048082deb066', X'83AFABA721C4C343B158A3BC82E712F81F3A065B3EFD1EF7D08F8056D599CDE8', 'ff8d048082deb066:a93aee8a2c8a3ec6ad5fd2e492f9446d7fcdfd77488839e24340ceb6aab73447');
INSERT INTO audit VALUES (38, 1795509158188766, 'started', 'owner', '01a20caf-80e2-7d50-a2d5-a975f91883c1', '01a20caf-80d6-7d03-b10c-b42c2b9efd5b', '{"arguments":"65168cba3af4f4cd1f0560a10235853d65513ae08f8b07c66c92b39db54c35bd","events":["tg:123456:m:-1000002000001:25"],"tool":"shell"}', 'ff8d048082deb066', X'173F48CCC5E16309528945E1D3DDD31B1BD455A16E59EC098B5560540C970C78', 'ff8d048082deb066:e761540905ff54fb435ac4d359594d10827e75b48f105e51c9662bc761e09985');
INSERT INTO audit VALUES (39, 1795509159771474, 'asked', 'owner', 'z1cxwwk3qq', '01a20caf-86fc-7d2c-843b-7f77741b606f', '{"about":"question","approvers":["owner"],"binding":"","call":"01a20caf-8738-70a4-8b23-b88e0519c203","calls":[],"events":["tg:123456:m:7:20"],"quorum":1,"tool":"tool_auth"}', 'ff8d048082deb066', X'A7BD83B4BCA8060BC8227F9163F46FFC173404A775A5CD97C0FE2A8A5E015823', 'ff8d048082deb066:4edb5e03933c5fb77035f4919d4238813bf56ba1b83150fad856b4d1e2e6e442');
INSERT INTO audit VALUES (40, 1795509159872670, 'asked', '01a20cae-ba09-7680-979b-a95d627f3b9d', 'tz2tdw1y3d', '01a20caf-876f-7e73-8bf3-9d8f5f859b86', '{"about":"approval","approvers":[],"binding":"75e2af0b448fea78635c93123f7c0ea587816bc93f1db49f9fb2dade94536364","call":"01a20caf-87af-7b23-920d-b83b65be5442","calls":[],"events":["tg:123456:m:11:23"],"quorum":1,"tool":"shell"}', 'ff8d048082deb066', X'17F84077B738666E01E051B5DF756505AEF35C2675CCEE3025BC93BB40B19C15', 'ff8d048082deb066:86eb31dfbee1015593fe1ec538e50119fb89ed9f8a2f3caa8dcc7b04b3703c1e');
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
