-- Times are integer microseconds UTC. Row ids are UUIDv7 text unless they count upwards.
-- A table is STRICT so that a value of the wrong type is refused where it is written.

-- People ---------------------------------------------------------------------------------------------

CREATE TABLE users (
    id         TEXT NOT NULL PRIMARY KEY,
    role       TEXT NOT NULL CHECK (role IN ('owner', 'member', 'guest')),
    name       TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE identities (
    channel          TEXT NOT NULL,
    platform_user_id TEXT NOT NULL,
    user_id          TEXT NOT NULL REFERENCES users (id),
    via              TEXT NOT NULL,
    name             TEXT NOT NULL,
    username         TEXT,
    created_at       INTEGER NOT NULL,
    PRIMARY KEY (channel, platform_user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX identities_by_user ON identities (user_id);

-- Once-only answers to people who were turned away.
CREATE TABLE refusals (
    channel          TEXT NOT NULL,
    platform_user_id TEXT NOT NULL,
    outcome          TEXT NOT NULL,
    answered_at      INTEGER NOT NULL,
    PRIMARY KEY (channel, platform_user_id, outcome)
) STRICT, WITHOUT ROWID;

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

-- Conversations --------------------------------------------------------------------------------------

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
) STRICT, WITHOUT ROWID;

-- Where a key leads now. Several keys may lead to one thread; a thread may have lost its key.
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
    ended_at       INTEGER,
    CHECK ((state = 'running') = (running_since IS NOT NULL)),
    CHECK ((state IN ('running', 'waiting')) = (ended_at IS NULL))
) STRICT, WITHOUT ROWID;
-- One turn at a time in a thread.
CREATE UNIQUE INDEX turns_active ON turns (thread_id) WHERE state IN ('running', 'waiting');

CREATE TABLE entries (
    thread_id TEXT NOT NULL REFERENCES threads (id),
    seq       INTEGER NOT NULL,
    turn_id   TEXT NOT NULL REFERENCES turns (id),
    at        INTEGER NOT NULL,
    kind      TEXT NOT NULL CHECK (kind IN ('user', 'assistant', 'call', 'result', 'summary', 'note')),
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
) STRICT;
CREATE INDEX inbox_waiting ON inbox (thread_id, order_key) WHERE outcome = 'waiting';

-- Tool calls and consent -----------------------------------------------------------------------------

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
    started_ticks  INTEGER,
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
    closed_at     INTEGER,
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

-- Going out ------------------------------------------------------------------------------------------

CREATE TABLE outbox (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    channel    TEXT NOT NULL,
    address    TEXT NOT NULL,
    message    TEXT NOT NULL,                 -- JSON
    state      TEXT NOT NULL CHECK (state IN ('queued', 'sending', 'sent', 'failed', 'ambiguous')),
    settled    INTEGER NOT NULL CHECK (settled IN (0, 1)),   -- nothing more will be done about it
    nonce      TEXT NOT NULL,
    refs       TEXT NOT NULL DEFAULT '[]',    -- JSON list, one per part sent
    order_key  TEXT,                          -- of the last part sent
    edit_of    INTEGER REFERENCES outbox (id),
    prompt_id  TEXT REFERENCES prompts (id),
    turn_id    TEXT REFERENCES turns (id),
    event_id   INTEGER REFERENCES inbox (id),
    not_before INTEGER NOT NULL DEFAULT 0,
    attempts   INTEGER NOT NULL,
    repeats    INTEGER NOT NULL DEFAULT 0,
    error      TEXT,
    created_at INTEGER NOT NULL,
    sent_at    INTEGER,
    CHECK (settled OR state IN ('queued', 'sending', 'ambiguous')),
    CHECK (NOT settled OR state IN ('sent', 'failed', 'ambiguous'))
) STRICT;
CREATE INDEX outbox_unsettled ON outbox (channel, address) WHERE settled = 0;
CREATE INDEX outbox_cards ON outbox (prompt_id) WHERE prompt_id IS NOT NULL;
CREATE INDEX outbox_by_turn ON outbox (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX outbox_by_event ON outbox (event_id) WHERE event_id IS NOT NULL;
CREATE INDEX outbox_edits ON outbox (edit_of) WHERE edit_of IS NOT NULL;

-- What tools keep ------------------------------------------------------------------------------------

CREATE TABLE memories (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id    TEXT NOT NULL REFERENCES users (id),
    key        TEXT NOT NULL,
    text       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (user_id, key)
) STRICT;
CREATE INDEX memories_newest ON memories (user_id, id);
-- Holds terms made by core.store.rows, so that words of scripts without spaces are found.
CREATE VIRTUAL TABLE memory_terms USING fts5 (terms, content = '', tokenize = "unicode61 remove_diacritics 0");

-- The store itself -----------------------------------------------------------------------------------

-- Written to find out whether writing works again: as much as a group of ordinary units.
CREATE TABLE probe (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    at     INTEGER NOT NULL,
    filler BLOB NOT NULL
) STRICT;
