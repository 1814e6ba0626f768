-- A new database of the current schema; the numbered scripts upgrade older ones to the same.
-- Times are integer microseconds UTC. Row ids are UUIDv7 text unless they count upwards.
-- A table is STRICT so that a value of the wrong type is refused where it is written.

-- People ------------------------------------------------------------------------------------------

CREATE TABLE users (
    id         TEXT NOT NULL PRIMARY KEY,
    role       TEXT NOT NULL CHECK (role IN ('owner', 'member', 'guest')),
    name       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    preset     TEXT,
    limits     TEXT,  -- JSON of the limits set of max_rounds, max_tools, loop_timeout_s; null: none
    timezone   TEXT,  -- null: the hub's default
    model      TEXT,  -- the model of the configuration that this person's runs prefer; null: the first
    thinking   TEXT  -- the effort of their models; null: as configured
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
CREATE INDEX identities_by_user ON identities (user_id);

-- The last answer of each kind to a person who has no access, so that it is given once.
CREATE TABLE refusals (
    channel          TEXT NOT NULL,
    platform_user_id TEXT NOT NULL,
    outcome          TEXT NOT NULL,
    answered_at      INTEGER NOT NULL,
    PRIMARY KEY (channel, platform_user_id, outcome)
) STRICT, WITHOUT ROWID;
CREATE INDEX refusals_answered ON refusals (channel, answered_at);

-- Events that are counted, not stored.
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

-- People who ask for access.
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
-- One valid code for each stranger, and one stranger for each code.
CREATE UNIQUE INDEX pairing_requests_open ON pairing_requests (channel, platform_user_id) WHERE state = 'open';
CREATE UNIQUE INDEX pairing_requests_code ON pairing_requests (code) WHERE state = 'open';
CREATE INDEX pairing_requests_by_sender ON pairing_requests (channel, platform_user_id, created_at);
CREATE INDEX pairing_requests_by_age ON pairing_requests (created_at);

-- Codes that join a second account to a person.
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
CREATE UNIQUE INDEX link_offers_open ON link_offers (user_id) WHERE used_at IS NULL;

-- Kept as long as they count against the guesser.
CREATE TABLE wrong_codes (
    id      INTEGER PRIMARY KEY,
    guesser TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
CREATE INDEX wrong_codes_by_guesser ON wrong_codes (guesser, at);
CREATE INDEX wrong_codes_by_time ON wrong_codes (at);

-- Sessions of browsers and tokens of members. Only hashes are kept; the holder alone knows the key.
CREATE TABLE api_keys (
    hash       TEXT NOT NULL PRIMARY KEY,
    kind       TEXT NOT NULL CHECK (kind IN ('session', 'token', 'invitation')),
    user_id    TEXT NOT NULL REFERENCES users (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX api_keys_by_user ON api_keys (user_id, kind);

-- Sessions that hooks know of: open, or ended (ended_at).
CREATE TABLE hooked_sessions (
    user_id  TEXT NOT NULL PRIMARY KEY REFERENCES users (id),
    began_at INTEGER NOT NULL,
    ended_at INTEGER
) STRICT, WITHOUT ROWID;

-- Conversations -----------------------------------------------------------------------------------

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
    limits         TEXT,  -- as those of users
    kind           TEXT NOT NULL DEFAULT 'chat' CHECK (kind IN ('chat', 'routine', 'job', 'subtask', 'settings')),  -- not chat: of its runs; `scope` is its id
    verbosity      TEXT,  -- what people see of its runs; null: answers only
    searched_seq   INTEGER NOT NULL DEFAULT 0,  -- what was said up to here is in `said`
    checkpoints    INTEGER NOT NULL DEFAULT 0,  -- turns that can still be undone, at most 20
    origin_id      TEXT,  -- the thread this is a branch of; it may be deleted
    origin_turn    INTEGER,  -- the last turn of it that was copied
    closed_at      INTEGER,  -- null: it is open
    archived_at    INTEGER,  -- null: it is listed
    tags           TEXT NOT NULL DEFAULT '[]',  -- JSON list
    model          TEXT,  -- as those of users; chosen for this conversation
    thinking       TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX threads_unsearched ON threads (last_active_at) WHERE kind = 'chat' AND last_seq > searched_seq;
CREATE INDEX threads_of_routines ON threads (scope) WHERE kind = 'routine';

-- The thread a key leads to now. Several keys may lead to one thread; a thread may have lost its key.
CREATE TABLE thread_keys (
    owner_id  TEXT NOT NULL REFERENCES users (id),
    channel   TEXT NOT NULL,
    scope     TEXT NOT NULL,
    thread_id TEXT NOT NULL REFERENCES threads (id),
    PRIMARY KEY (owner_id, channel, scope)
) STRICT, WITHOUT ROWID;
CREATE INDEX thread_keys_by_thread ON thread_keys (thread_id);

CREATE TABLE sessions (
    user_id       TEXT NOT NULL PRIMARY KEY REFERENCES users (id),
    active_thread TEXT NOT NULL REFERENCES threads (id),
    created_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Whatever runs tools and models: a turn of a chat, a run of a routine, or a job. Its journal are entries and calls.
CREATE TABLE runs (
    id             TEXT NOT NULL PRIMARY KEY,
    thread_id      TEXT NOT NULL REFERENCES threads (id),
    number         INTEGER NOT NULL,
    principal_id   TEXT NOT NULL REFERENCES users (id),
    state          TEXT NOT NULL
                       CHECK (state = 'running' OR state = 'waiting' OR state = 'done' OR state = 'failed' OR state = 'stopped' OR state = 'crashed'),
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
    kind           TEXT NOT NULL DEFAULT 'chat' CHECK (kind = 'chat' OR kind = 'routine' OR kind = 'job' OR kind = 'subtask' OR kind = 'settings'),
    consent_thread TEXT,  -- routine, job: the thread whose grants hold; chat: null, its own
    fence          INTEGER,  -- the lease of the hub that has it in hand; null while it waits or has ended
    crashes        INTEGER NOT NULL DEFAULT 0,  -- of hubs, without progress, that are put down to it
    models         TEXT,  -- JSON: the model that was called last, and those that failed
    CHECK ((state = 'running') = (running_since IS NOT NULL)),
    CHECK ((state IN ('running', 'waiting')) = (ended_at IS NULL))
) STRICT, WITHOUT ROWID;
-- One run at a time in a thread.
CREATE UNIQUE INDEX runs_active ON runs (thread_id) WHERE state IN ('running', 'waiting');
CREATE INDEX runs_by_thread ON runs (thread_id, number);
CREATE INDEX runs_of_jobs ON runs (principal_id) WHERE kind = 'job' AND state = 'running';

CREATE TABLE entries (
    thread_id TEXT NOT NULL REFERENCES threads (id),
    seq       INTEGER NOT NULL,
    turn_id   TEXT REFERENCES runs (id),
    at        INTEGER NOT NULL,
    kind      TEXT NOT NULL
                  CHECK (kind = 'user' OR kind = 'assistant' OR kind = 'call' OR kind = 'result' OR kind = 'summary' OR kind = 'note' OR kind = 'operator'),
    text      TEXT NOT NULL,  -- a call's arguments as the model gave them
    call_id   TEXT,
    name      TEXT,  -- user: who speaks; call: the tool; result: its status
    extra     TEXT,  -- assistant: where it came from; summary: what it covers
    undone    INTEGER,  -- position of the undo that took it back; 0: cleared for good; null: it is live
    PRIMARY KEY (thread_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX entries_by_run ON entries (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX entries_summaries ON entries (thread_id, seq) WHERE kind = 'summary';
CREATE INDEX entries_undone ON entries (thread_id, undone) WHERE undone IS NOT NULL;

CREATE TABLE inbox (
    id               INTEGER PRIMARY KEY,
    key              TEXT NOT NULL UNIQUE,
    kind             TEXT NOT NULL CHECK (kind = 'message' OR kind = 'choice' OR kind = 'unreadable'),
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
    turn_id          TEXT REFERENCES runs (id),
    outcome          TEXT NOT NULL,
    answer           TEXT,
    sent_at          INTEGER NOT NULL,
    received_at      INTEGER NOT NULL,
    counted          INTEGER NOT NULL DEFAULT 0 CHECK (counted IN (0, 1)),
    album            TEXT,  -- parts of one album wait for each other until wait_until, then they are one input
    wait_until       INTEGER NOT NULL DEFAULT 0,
    steers           INTEGER NOT NULL DEFAULT 0 CHECK (steers IN (0, 1))  -- while it waits, it may join a running turn
) STRICT;
CREATE INDEX inbox_waiting ON inbox (thread_id, order_key) WHERE outcome = 'waiting';
-- Events that count against their sender's limit.
CREATE INDEX inbox_counted ON inbox (channel, platform_user_id, received_at) WHERE counted = 1;
CREATE INDEX inbox_by_run ON inbox (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX inbox_album ON inbox (album) WHERE album IS NOT NULL;

-- Everything shown in a thread besides its transcript. Positions are the thread's own, as those of entries.
CREATE TABLE feed (
    thread_id TEXT NOT NULL REFERENCES threads (id),
    seq       INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    kind      TEXT NOT NULL CHECK (kind IN ('event', 'message', 'card', 'outcome')),
    turn_id   TEXT REFERENCES runs (id),
    event_id  INTEGER REFERENCES inbox (id),  -- a person's command, or answer in words
    outbox_id INTEGER REFERENCES outbox (id),  -- what the hub says itself
    gate_id   TEXT REFERENCES gates (id),  -- a card, or what became of it
    PRIMARY KEY (thread_id, seq),
    CHECK ((kind = 'event') = (event_id IS NOT NULL)),
    CHECK ((kind = 'message') = (outbox_id IS NOT NULL)),
    CHECK ((kind IN ('card', 'outcome')) = (gate_id IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX feed_by_run ON feed (turn_id) WHERE turn_id IS NOT NULL;

-- Lists with a button for each line. Their buttons never expire; each press is judged as things are then.
CREATE TABLE menus (
    id         TEXT NOT NULL PRIMARY KEY,
    kind       TEXT NOT NULL CHECK (kind IN ('checkpoints', 'threads', 'deletion')),
    user_id    TEXT NOT NULL REFERENCES users (id),
    thread_id  TEXT REFERENCES threads (id),
    scope      TEXT,  -- as the event's, null for none
    items      TEXT NOT NULL,  -- JSON list of ids, in the order of the buttons
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Files of deleted threads that are still to be removed.
CREATE TABLE deleted_files (
    kind TEXT NOT NULL CHECK (kind IN ('upload', 'archive', 'outputs')),
    name TEXT NOT NULL,  -- an upload's id; of an archive and of outputs, their thread's
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

-- The MCP servers that people have added, each for themselves.
CREATE TABLE extensions (
    name       TEXT    NOT NULL PRIMARY KEY,  -- unique in the hub: tools are named after it
    owner_id   TEXT    NOT NULL REFERENCES users (id),
    definition TEXT    NOT NULL,  -- JSON: how it is connected to, without any secret
    enabled    INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX extensions_of_person ON extensions (owner_id);

-- Tool calls and consent --------------------------------------------------------------------------

CREATE TABLE calls (
    id            TEXT NOT NULL PRIMARY KEY,
    thread_id     TEXT NOT NULL,
    seq           INTEGER NOT NULL,
    turn_id       TEXT NOT NULL REFERENCES runs (id),
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
    host          TEXT,  -- where its process is found
    FOREIGN KEY (thread_id, seq) REFERENCES entries (thread_id, seq),
    CHECK ((state = 'ended') = (status IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX calls_by_turn ON calls (turn_id, seq);
CREATE INDEX calls_running ON calls (turn_id) WHERE state = 'running';
CREATE INDEX calls_by_thread ON calls (thread_id, seq);

-- Everything that waits for a person's answer.
CREATE TABLE gates (
    id            TEXT NOT NULL PRIMARY KEY,
    kind          TEXT NOT NULL
                      CHECK (kind IN ('approval', 'question', 'unknown_outcome', 'budget', 'continue', 'menu',
                                       'auth', 'changes', 'credential', 'settings')),
    state         TEXT NOT NULL CHECK (state IN ('open', 'closed')),
    thread_id     TEXT NOT NULL REFERENCES threads (id),
    turn_id       TEXT NOT NULL REFERENCES runs (id),
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
    link          TEXT,  -- the page at which the requester signs in
    CHECK ((state = 'closed') = (closed_at IS NOT NULL)),
    CHECK (state = 'closed' OR (outcome IS NULL AND outcome_text IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX gates_open ON gates (thread_id, created_at) WHERE state = 'open';
CREATE INDEX gates_expiring ON gates (expires_at) WHERE state = 'open';
CREATE INDEX gates_by_call ON gates (call_id) WHERE call_id IS NOT NULL;
CREATE INDEX gates_by_turn ON gates (turn_id, kind, created_at);
CREATE INDEX gates_reminding ON gates (remind_at) WHERE state = 'open' AND remind_at IS NOT NULL;
CREATE INDEX gates_escalating ON gates (escalate_at) WHERE state = 'open' AND escalate_at IS NOT NULL;
CREATE INDEX gates_secret ON gates (requester_id, awaits) WHERE secret IS NOT NULL;

-- Changes of the configuration file that wait for approval, or that are approved and still to be written.
CREATE TABLE settings_changes (
    id       TEXT NOT NULL PRIMARY KEY REFERENCES gates (id),
    before   TEXT NOT NULL,  -- SHA-256 of the file that it changes
    after    TEXT NOT NULL,  -- SHA-256 of the file that it makes
    wanted   TEXT NOT NULL,  -- JSON: the keys and values, without any secret
    approved INTEGER NOT NULL DEFAULT 0 CHECK (approved IN (0, 1))
) STRICT, WITHOUT ROWID;

-- Sign-ins that people began at a server: their link was shown.
CREATE TABLE sign_ins (
    id          TEXT NOT NULL PRIMARY KEY,  -- of its gate, if it has one
    server      TEXT NOT NULL,
    user_id     TEXT NOT NULL REFERENCES users (id),
    state       TEXT NOT NULL CHECK (state IN ('shown', 'answered', 'redeeming')),
    digest      TEXT NOT NULL,  -- SHA-256 of the OAuth state, which is good once
    key_id      TEXT NOT NULL,
    sealed      BLOB NOT NULL,  -- what the attempt is made of
    code_key_id TEXT,
    code        BLOB,  -- what came back; null: nothing yet
    fence       INTEGER,  -- redeeming: the lease of the hub that does it
    expires_at  INTEGER NOT NULL,
    CHECK ((state = 'shown') = (code IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_ins_by_person ON sign_ins (user_id, server);
CREATE INDEX sign_ins_answered ON sign_ins (id) WHERE state <> 'shown';

CREATE TABLE sign_outs (
    id      TEXT    NOT NULL PRIMARY KEY,
    server  TEXT    NOT NULL,
    user_id TEXT    NOT NULL REFERENCES users (id),
    key_id  TEXT    NOT NULL,
    sealed  BLOB    NOT NULL,  -- the tokens
    tries   INTEGER NOT NULL,
    due_at  INTEGER NOT NULL
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
CREATE INDEX grants_by_user ON grants (user_id, tool);

-- A person's settings for single tools.
CREATE TABLE tool_settings (
    user_id    TEXT NOT NULL REFERENCES users (id),
    tool       TEXT NOT NULL,
    setting    TEXT NOT NULL CHECK (setting IN ('always_allow', 'ask_each_time', 'disabled')),
    changed_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, tool)
) STRICT, WITHOUT ROWID;

-- Runs of tools whose use is limited; rows older than the longest limit are dropped.
CREATE TABLE tool_uses (
    id      INTEGER PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    tool    TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
CREATE INDEX tool_uses_lately ON tool_uses (user_id, tool, at);

-- No tool runs while there is a row.
CREATE TABLE tool_pause (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    by TEXT NOT NULL REFERENCES users (id),
    at INTEGER NOT NULL
) STRICT;

-- How often tools have failed in a row in unattended runs, which go without them from `left_out_at` on.
CREATE TABLE tool_failures (
    tool        TEXT    NOT NULL PRIMARY KEY,
    failures    INTEGER NOT NULL,
    error       TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    left_out_at INTEGER
) STRICT, WITHOUT ROWID;

-- Secrets, sealed with the vault's key.
CREATE TABLE secrets (
    name       TEXT NOT NULL PRIMARY KEY,
    key_id     TEXT NOT NULL,
    sealed     BLOB NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Outgoing messages --------------------------------------------------------------------------------

-- A `streaming` row is the preview of a running turn's answer; its text is never kept. It becomes `replaced`
-- in the transaction in which its turn stops running, and the message in its place names it in `replaces`.
CREATE TABLE outbox (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    channel       TEXT NOT NULL,
    address       TEXT NOT NULL,
    message       TEXT NOT NULL,  -- JSON
    state         TEXT NOT NULL
                      CHECK (state = 'queued' OR state = 'sending' OR state = 'sent' OR state = 'failed' OR state = 'ambiguous' OR state = 'streaming' OR state = 'replaced'),
    settled       INTEGER NOT NULL CHECK (settled IN (0, 1)),  -- nothing more will be done about it
    nonce         TEXT NOT NULL,
    refs          TEXT NOT NULL DEFAULT '[]',  -- JSON list, one per part sent
    order_key     TEXT,  -- of the last part sent
    edit_of       INTEGER REFERENCES outbox (id),
    replaces      INTEGER REFERENCES outbox (id),
    gate_id       TEXT REFERENCES gates (id),
    turn_id       TEXT REFERENCES runs (id),
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
    fence         INTEGER,  -- sending, streaming: the lease of the hub that sends it
    menu_id       TEXT,  -- its choices are words that a press sends in the person's name
    marks         INTEGER NOT NULL DEFAULT 0 CHECK (marks IN (0, 1)),  -- shows that `edit_of` was undone (`outcome`), or is live
    job_id        TEXT REFERENCES jobs (id),  -- the job that it shows as it runs
    paced         INTEGER NOT NULL DEFAULT 0 CHECK (paced IN (0, 1)),  -- sent seldom, and after everything else
    CHECK (settled OR state NOT IN ('sent', 'failed')),
    CHECK (NOT settled OR state = 'sent' OR state = 'failed' OR state = 'ambiguous' OR state = 'replaced'),
    CHECK (state NOT IN ('streaming', 'replaced') OR turn_id IS NOT NULL)
) STRICT;
CREATE INDEX outbox_unsettled ON outbox (channel, address) WHERE settled = 0;
CREATE INDEX outbox_cards ON outbox (gate_id) WHERE gate_id IS NOT NULL;
CREATE INDEX outbox_menus ON outbox (menu_id) WHERE menu_id IS NOT NULL;
CREATE INDEX outbox_by_turn ON outbox (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX outbox_by_event ON outbox (event_id) WHERE event_id IS NOT NULL;
CREATE INDEX outbox_edits ON outbox (edit_of) WHERE edit_of IS NOT NULL;
-- A job has one message that shows it, and one change of this message, which is queued again and again.
CREATE UNIQUE INDEX outbox_jobs ON outbox (job_id) WHERE job_id IS NOT NULL AND edit_of IS NULL;
CREATE UNIQUE INDEX outbox_job_changes ON outbox (job_id) WHERE job_id IS NOT NULL AND edit_of IS NOT NULL;
CREATE INDEX outbox_replacing ON outbox (replaces) WHERE replaces IS NOT NULL;
-- A turn has one preview at a time.
CREATE UNIQUE INDEX outbox_streaming ON outbox (turn_id) WHERE state = 'streaming';

-- Messages the hub sends without being asked, once for each key.
CREATE TABLE notices (
    key        TEXT NOT NULL PRIMARY KEY,
    outbox_id  INTEGER NOT NULL REFERENCES outbox (id),  -- the last attempt
    elsewhere  TEXT NOT NULL,  -- JSON list: where it goes if that one is refused
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX notices_by_row ON notices (outbox_id);

-- Messages that outbound hooks have decided about; written only where there are such hooks.
CREATE TABLE outbound_judged (
    outbox_id INTEGER PRIMARY KEY REFERENCES outbox (id),
    at        INTEGER NOT NULL
) STRICT;

-- Routines ----------------------------------------------------------------------------------------

-- The definition is JSON that the store does not read; the other columns are those it decides by.
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
    done_at          INTEGER,  -- when its only slot was claimed or skipped
    UNIQUE (owner_id, name)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX routines_by_path ON routines (webhook_path) WHERE webhook_path IS NOT NULL;
CREATE INDEX routines_by_slot ON routines (next_slot_at) WHERE enabled = 1 AND next_slot_at IS NOT NULL;
CREATE INDEX routines_done ON routines (done_at) WHERE done_at IS NOT NULL;

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
    started_at     INTEGER,
    ended_at       INTEGER,
    result         TEXT,
    error          TEXT,
    notice         TEXT,
    notice_state   TEXT NOT NULL DEFAULT 'none' CHECK (notice_state IN ('none', 'due', 'sent', 'dropped')),
    notice_at      INTEGER,
    menu_id        TEXT,  -- the id in the notice's buttons
    created_at     INTEGER NOT NULL,
    scope          TEXT,  -- JSON: the tools it was given when it began
    missing_grants TEXT,  -- JSON list: grants that calls were refused for want of; the notice offers them
    CHECK ((state IN ('waiting', 'running')) = (ended_at IS NULL)),
    CHECK ((notice_state = 'none') = (notice IS NULL)),
    UNIQUE (routine_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX routine_runs_waiting ON routine_runs (not_before, due_at) WHERE state = 'waiting';
CREATE INDEX routine_runs_running ON routine_runs (routine_id) WHERE state = 'running';
CREATE INDEX routine_runs_by_age ON routine_runs (routine_id, created_at);
CREATE INDEX routine_runs_notices ON routine_runs (notice_at) WHERE notice_state = 'due';
CREATE UNIQUE INDEX routine_runs_menus ON routine_runs (menu_id) WHERE menu_id IS NOT NULL;

-- Jobs ---------------------------------------------------------------------------------------------

CREATE TABLE jobs (
    id              TEXT NOT NULL PRIMARY KEY,  -- also that of its thread and of its run
    short_id        TEXT NOT NULL,
    owner_id        TEXT NOT NULL REFERENCES users (id),
    key             TEXT NOT NULL,
    title           TEXT NOT NULL,
    task            TEXT NOT NULL,
    question        TEXT,  -- the model's first message; null: the task
    state           TEXT NOT NULL
                        CHECK (state IN ('pending', 'in_progress', 'completed', 'submitted', 'accepted',
                                         'failed', 'stuck', 'cancelled')),
    scope           TEXT NOT NULL,  -- JSON list: the tools it was given when it was dispatched
    iterations      INTEGER NOT NULL CHECK (iterations >= 1),
    timeout_s       INTEGER NOT NULL CHECK (timeout_s >= 1),
    max_tokens      INTEGER,  -- null: no limit
    max_micro_usd   INTEGER,  -- null: no limit
    priority        INTEGER NOT NULL,
    thread_id       TEXT REFERENCES threads (id),  -- the conversation that hears of it
    parent          TEXT REFERENCES jobs (id),  -- the job it repeats
    repair_attempts INTEGER NOT NULL DEFAULT 0,
    review          INTEGER NOT NULL DEFAULT 0 CHECK (review IN (0, 1)),  -- its owner accepts or rejects its result
    menu_id         TEXT,  -- the id in the buttons of its newest message
    monitor_menu    TEXT,  -- the id in the buttons of the message that shows it as it runs
    shown_seq       INTEGER NOT NULL DEFAULT 0,  -- the position in its thread up to which this message shows it
    notice          TEXT,  -- the message about its end, until its owner's quiet hours are over; the files for its run's notice
    notice_at       INTEGER,  -- when this message is sent
    reason          TEXT NOT NULL,  -- of the last change
    result          TEXT,
    result_seq      INTEGER,  -- its position among the events, after the change of state that ended the work
    plan            TEXT,  -- JSON: the calls that it begins with; null: it has none
    plan_state      TEXT CHECK (plan_state IN ('running', 'ended')),  -- null: the model was not asked for one
    run_id          TEXT,  -- the routine's run whose work it is, which may be gone
    routine_id      TEXT,  -- the run's routine, also of a job that repeats this one; it may be gone
    origin          TEXT NOT NULL,  -- the first of the jobs that repeat one another: grants are its
    day_tokens      INTEGER,  -- what the routine's budget of the day had left; null: no limit
    day_micro_usd   INTEGER,
    missing_grants  TEXT,  -- JSON list: grants that calls were refused for want of; its message offers them
    created_at      INTEGER NOT NULL,
    started_at      INTEGER,
    ended_at        INTEGER,
    UNIQUE (owner_id, short_id),
    UNIQUE (owner_id, key)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX jobs_menus ON jobs (menu_id) WHERE menu_id IS NOT NULL;
CREATE UNIQUE INDEX jobs_monitors ON jobs (monitor_menu) WHERE monitor_menu IS NOT NULL;
CREATE INDEX jobs_pending ON jobs (owner_id, priority, created_at) WHERE state = 'pending';
CREATE INDEX jobs_notices ON jobs (notice_at) WHERE notice_at IS NOT NULL;
CREATE INDEX jobs_states ON jobs (state);
CREATE UNIQUE INDEX jobs_runs ON jobs (run_id) WHERE run_id IS NOT NULL;

-- Every change of a job's state, and what became of its plan meanwhile. Positions are those of its thread, as those of entries.
CREATE TABLE job_changes (
    job_id TEXT NOT NULL REFERENCES jobs (id),
    seq    INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    before TEXT,  -- null: it was dispatched
    state  TEXT NOT NULL,
    reason TEXT NOT NULL,
    actor  TEXT,  -- a user's id; null: the hub itself
    PRIMARY KEY (job_id, seq)
) STRICT, WITHOUT ROWID;

-- What people say to a job while it works.
CREATE TABLE job_messages (
    id        INTEGER PRIMARY KEY,
    job_id    TEXT NOT NULL REFERENCES jobs (id),
    key       TEXT NOT NULL,
    text      TEXT NOT NULL,
    at        INTEGER NOT NULL,
    joined_at INTEGER,  -- null: the model has not heard it yet
    UNIQUE (job_id, key)
) STRICT;
CREATE INDEX job_messages_waiting ON job_messages (job_id, id) WHERE joined_at IS NULL;

-- Jobs in containers. `number`: of the container's user and directory.
CREATE TABLE job_containers (
    job_id      TEXT NOT NULL PRIMARY KEY REFERENCES jobs (id),
    number      INTEGER NOT NULL UNIQUE,
    project     TEXT NOT NULL,  -- the directory of the workspace that it works on a copy of; '.': all of it
    mode        TEXT NOT NULL,  -- 'worker', or the agent CLI that works inside
    image       TEXT,  -- chosen for it; null: the configured one
    token_hash  TEXT,  -- of what its worker names itself by; null: no request is answered
    changes     TEXT,  -- JSON: the files in which its copy differs at its end
    digest      TEXT,  -- of the changes: what a person accepts
    diff        TEXT,  -- the changes as people read them
    accepted_by TEXT,  -- the person who accepted them, until the files of the project are changed
    used        TEXT  -- JSON: the limits of its container, and what it used and reached; null: it never began
) STRICT, WITHOUT ROWID;
CREATE INDEX job_containers_accepted ON job_containers (job_id) WHERE accepted_by IS NOT NULL;

-- What workers in containers asked for, each with the answer that a repetition gets as well.
CREATE TABLE job_requests (
    job_id TEXT NOT NULL REFERENCES jobs (id),
    seq    INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    kind   TEXT NOT NULL CHECK (kind IN ('model', 'result', 'note', 'messages', 'told', 'credential', 'complete')),
    answer TEXT NOT NULL,
    PRIMARY KEY (job_id, seq)
) STRICT, WITHOUT ROWID;

-- The number of a guest's calls of the model on a day; one row for each guest.
CREATE TABLE model_calls (
    user_id TEXT NOT NULL PRIMARY KEY REFERENCES users (id),
    day     TEXT NOT NULL,  -- as YYYY-MM-DD, in the hub's time zone
    calls   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Usage of models ---------------------------------------------------------------------------------

-- A row for each call of a model, written before the call is made. `micro_usd` is what budgets count.
CREATE TABLE usage (
    id                  TEXT NOT NULL PRIMARY KEY,
    run_id              TEXT NOT NULL,  -- a row of `runs`, which may be gone; for other kinds, of that work
    kind                TEXT NOT NULL CHECK (kind = 'chat' OR kind = 'routine' OR kind = 'job' OR kind = 'summary' OR kind = 'test'),
    thread_id           TEXT,
    user_id             TEXT NOT NULL,
    routine_id          TEXT,
    job_id              TEXT,
    plan_step           TEXT,
    model               TEXT NOT NULL,
    provider            TEXT NOT NULL,
    attempt             INTEGER NOT NULL CHECK (attempt >= 1),
    reserved_tokens     INTEGER NOT NULL,
    reserved_micro_usd  INTEGER NOT NULL,
    input_tokens        INTEGER,  -- as the provider counted them; null: it did not, or not yet
    output_tokens       INTEGER,
    cached_input_tokens INTEGER,
    cache_write_tokens  INTEGER,
    micro_usd           INTEGER NOT NULL,  -- the cost; the reservation until the call is settled
    state               TEXT NOT NULL CHECK (state = 'reserved' OR state = 'settled' OR state = 'estimated'),
    reserved_at         INTEGER NOT NULL,
    settled_at          INTEGER,
    fence               INTEGER,  -- reserved: the lease of the hub that makes the call
    CHECK ((state = 'settled') = (input_tokens IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_by_time ON usage (reserved_at, user_id, micro_usd);
CREATE INDEX usage_by_thread ON usage (thread_id);
CREATE INDEX usage_by_routine ON usage (routine_id, reserved_at) WHERE routine_id IS NOT NULL;
CREATE INDEX usage_by_job ON usage (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX usage_by_run ON usage (run_id) WHERE routine_id IS NOT NULL;
CREATE INDEX usage_reserved ON usage (run_id) WHERE state = 'reserved';

-- Memory ------------------------------------------------------------------------------------------

CREATE TABLE memories (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id    TEXT NOT NULL REFERENCES users (id),
    key        TEXT NOT NULL,
    text       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    path       TEXT,  -- null: a note; else `key` is that of the last change
    UNIQUE (user_id, key)
) STRICT;
CREATE INDEX memories_newest ON memories (user_id, id);
CREATE UNIQUE INDEX memories_by_path ON memories (user_id, path) WHERE path IS NOT NULL;

-- What people removed and can bring back until `expires_at`.
CREATE TABLE undos (
    id         TEXT NOT NULL PRIMARY KEY,
    kind       TEXT NOT NULL CHECK (kind IN ('memory', 'access')),
    user_id    TEXT NOT NULL REFERENCES users (id),  -- whose it was
    removed    TEXT NOT NULL,  -- JSON
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Holds terms made by core.store.rows, so that words of scripts without spaces are found.
CREATE VIRTUAL TABLE memory_terms USING fts5 (terms, content = '', tokenize = "unicode61 remove_diacritics 0");

-- Search ------------------------------------------------------------------------------------------

-- What was said in threads, a turn at a time and in the order of their ends; its words are in said_terms.
CREATE TABLE said (
    id        INTEGER PRIMARY KEY,
    thread_id TEXT NOT NULL REFERENCES threads (id),
    first_seq INTEGER NOT NULL,
    last_seq  INTEGER NOT NULL,
    at        INTEGER NOT NULL
) STRICT;
CREATE INDEX said_by_thread ON said (thread_id, last_seq);

-- Holds terms made by core.store.search, so that words of scripts without spaces are found.
CREATE VIRTUAL TABLE said_terms USING fts5
    (terms, content = '', columnsize = 0, tokenize = "unicode61 remove_diacritics 0");

-- Audit -------------------------------------------------------------------------------------------

-- Decisions and actions, with their actors. Each record is written in the transaction of its change and
-- chained afterwards; see core/audit_chain.py.
CREATE TABLE audit (
    writer    INTEGER NOT NULL,  -- the fence of the hub that wrote it; 0: without a lease
    number    INTEGER NOT NULL,  -- of its writer's records, without a gap
    at        INTEGER NOT NULL,
    kind      TEXT NOT NULL,
    actor     TEXT,  -- a user's id; null: the hub itself
    subject   TEXT NOT NULL,  -- the id of the call, gate, grant, account, secret … it is about
    thread_id TEXT,
    detail    TEXT NOT NULL,  -- JSON
    key_id    TEXT NOT NULL,  -- of the key that sealed it
    seal      BLOB NOT NULL,
    position  INTEGER,  -- in the chain, without a gap; null until it is chained
    link      TEXT,
    PRIMARY KEY (writer, number),
    CHECK ((position IS NULL) = (link IS NULL))
) STRICT, WITHOUT ROWID;
-- A place in the chain is taken once, also by linkers that do not know of each other.
CREATE UNIQUE INDEX audit_chain ON audit (position) WHERE position IS NOT NULL;
CREATE INDEX audit_unlinked ON audit (writer, number) WHERE link IS NULL;
CREATE INDEX audit_by_subject ON audit (subject);

-- How many records each writer has written, dropped ones included: its last one is missed as well.
CREATE TABLE audit_writers (
    writer INTEGER PRIMARY KEY,
    number INTEGER NOT NULL,
    key_id TEXT NOT NULL,  -- '': counted by an upgrade, until the next lease is taken
    seal   BLOB NOT NULL
) STRICT;

-- The beginning of the chain once its older part was dropped.
CREATE TABLE audit_checkpoint (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    last_id INTEGER NOT NULL,  -- position of the last record dropped
    link    TEXT NOT NULL,
    at      INTEGER NOT NULL,
    key_id  TEXT NOT NULL,
    seal    BLOB NOT NULL,
    numbers TEXT NOT NULL DEFAULT ''  -- JSON: each writer's last number dropped; '': writer 0's is last_id
) STRICT;

-- The store itself --------------------------------------------------------------------------------

-- The hubs that write this database, each under a number of its own.
CREATE TABLE leases (
    fence       INTEGER PRIMARY KEY AUTOINCREMENT,
    host        TEXT NOT NULL,
    taken_at    INTEGER NOT NULL,
    lease_until INTEGER NOT NULL
) STRICT;

-- Written to check that writing works again: as much as a group of ordinary units.
CREATE TABLE probe (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    at     INTEGER NOT NULL,
    filler BLOB NOT NULL
) STRICT;
