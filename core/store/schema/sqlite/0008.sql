-- Routines: what is to be done when something happens, and each time it was done.

-- What a routine is lies in JSON that the store does not read; the columns beside it are what it decides by.
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
    updated_at      INTEGER NOT NULL,
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
    effect_started INTEGER NOT NULL DEFAULT 0 CHECK (effect_started IN (0, 1)),
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
    created_at     INTEGER NOT NULL,
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
