-- The schema of an empty database that the scripts 1 to 20 made; never made again.
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
CREATE INDEX identities_by_user ON identities (user_id);
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
CREATE INDEX thread_keys_by_thread ON thread_keys (thread_id);
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
CREATE UNIQUE INDEX turns_active ON turns (thread_id) WHERE state IN ('running', 'waiting');
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
CREATE INDEX entries_summaries ON entries (thread_id, seq) WHERE kind = 'summary';
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
CREATE INDEX inbox_waiting ON inbox (thread_id, order_key) WHERE outcome = 'waiting';
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
CREATE INDEX calls_by_turn ON calls (turn_id, seq);
CREATE INDEX calls_running ON calls (turn_id) WHERE state = 'running';
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
CREATE INDEX prompts_open ON prompts (thread_id, created_at) WHERE state = 'open';
CREATE INDEX prompts_expiring ON prompts (expires_at) WHERE state = 'open';
CREATE INDEX prompts_by_turn ON prompts (turn_id, kind, created_at);
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
CREATE INDEX grants_by_user ON grants (user_id, tool);
CREATE TABLE memories (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id    TEXT NOT NULL REFERENCES users (id),
    key        TEXT NOT NULL,
    text       TEXT NOT NULL,
    created_at INTEGER NOT NULL, path TEXT,
    UNIQUE (user_id, key)
) STRICT;
CREATE INDEX memories_newest ON memories (user_id, id);
CREATE VIRTUAL TABLE memory_terms USING fts5 (terms, content = '', tokenize = "unicode61 remove_diacritics 0");
CREATE TABLE probe (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    at     INTEGER NOT NULL,
    filler BLOB NOT NULL
) STRICT;
CREATE INDEX inbox_counted ON inbox (channel, platform_user_id, received_at) WHERE counted = 1;
CREATE INDEX refusals_told ON refusals (channel, answered_at);
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
CREATE UNIQUE INDEX pairing_requests_open ON pairing_requests (channel, platform_user_id) WHERE state = 'open';
CREATE UNIQUE INDEX pairing_requests_code ON pairing_requests (code) WHERE state = 'open';
CREATE INDEX pairing_requests_by_sender ON pairing_requests (channel, platform_user_id, created_at);
CREATE INDEX pairing_requests_by_age ON pairing_requests (created_at);
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
CREATE TABLE wrong_codes (
    id      INTEGER PRIMARY KEY,
    guesser TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
CREATE INDEX wrong_codes_by_guesser ON wrong_codes (guesser, at);
CREATE INDEX wrong_codes_by_time ON wrong_codes (at);
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
CREATE INDEX outbox_unsettled ON outbox (channel, address) WHERE settled = 0;
CREATE INDEX outbox_cards ON outbox (prompt_id) WHERE prompt_id IS NOT NULL;
CREATE INDEX outbox_by_turn ON outbox (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX outbox_by_event ON outbox (event_id) WHERE event_id IS NOT NULL;
CREATE INDEX outbox_edits ON outbox (edit_of) WHERE edit_of IS NOT NULL;
CREATE INDEX outbox_replacing ON outbox (replaces) WHERE replaces IS NOT NULL;
CREATE UNIQUE INDEX outbox_streaming ON outbox (turn_id) WHERE state = 'streaming';
CREATE INDEX inbox_album ON inbox (album) WHERE album IS NOT NULL;
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
CREATE INDEX api_keys_by_user ON api_keys (user_id, kind);
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
CREATE UNIQUE INDEX routines_by_path ON routines (webhook_path) WHERE webhook_path IS NOT NULL;
CREATE INDEX routines_by_slot ON routines (next_slot_at) WHERE enabled = 1 AND next_slot_at IS NOT NULL;
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
CREATE INDEX routine_runs_waiting ON routine_runs (not_before, due_at) WHERE state = 'waiting';
CREATE INDEX routine_runs_running ON routine_runs (routine_id) WHERE state = 'running';
CREATE INDEX routine_runs_by_age ON routine_runs (routine_id, created_at);
CREATE INDEX routine_runs_notices ON routine_runs (notice_at) WHERE notice_state = 'due';
CREATE UNIQUE INDEX routine_runs_menus ON routine_runs (menu_id) WHERE menu_id IS NOT NULL;
CREATE TABLE notices (
    key        TEXT NOT NULL PRIMARY KEY,
    outbox_id  INTEGER NOT NULL REFERENCES outbox (id),   -- the one tried last
    elsewhere  TEXT NOT NULL,                             -- JSON list: where it goes if that one is refused
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX notices_by_row ON notices (outbox_id);
CREATE INDEX calls_by_thread ON calls (thread_id, seq);
CREATE INDEX prompts_reminding ON prompts (remind_at) WHERE state = 'open' AND remind_at IS NOT NULL;
CREATE INDEX prompts_escalating ON prompts (escalate_at) WHERE state = 'open' AND escalate_at IS NOT NULL;
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
CREATE INDEX tool_uses_lately ON tool_uses (user_id, tool, at);
CREATE UNIQUE INDEX memories_by_path ON memories (user_id, path) WHERE path IS NOT NULL;
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
CREATE INDEX audit_unlinked ON audit (id) WHERE link IS NULL;
CREATE INDEX audit_by_subject ON audit (subject);
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
CREATE UNIQUE INDEX run_steps_calls ON run_steps (call_id) WHERE kind = 'call';
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
CREATE INDEX prompts_secret ON prompts (requester_id, awaits) WHERE secret IS NOT NULL;
PRAGMA user_version = 20;
