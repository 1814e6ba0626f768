-- One recovery for runs of every kind: `runs` alone says which hub has what in hand.

CREATE TABLE routine_runs_of_now (
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
    CHECK ((notice_state = 'none') = (notice IS NULL)),
    UNIQUE (routine_id, key)
) STRICT, WITHOUT ROWID;

INSERT INTO routine_runs_of_now
SELECT id, routine_id, key, kind, input, content_hash, state, due_at, not_before, attempts, started_at, ended_at,
       result, error, input_tokens, output_tokens, notice, notice_state, notice_at, menu_id, created_at,
       cost_micro_usd, scope, missing_grants
FROM routine_runs;

-- A run of a routine without tools had no journal. One under way gets it, so that it is found.
INSERT INTO threads (id, owner_id, channel, scope, address, title, created_at, last_active_at, last_turn, kind)
SELECT r.id, o.owner_id, 'routine', o.id, '', o.name, r.created_at, coalesce(r.started_at, r.created_at), 1, 'routine'
FROM routine_runs r JOIN routines o ON o.id = r.routine_id
WHERE r.state = 'running' AND NOT EXISTS (SELECT 1 FROM runs j WHERE j.id = r.id);

INSERT INTO runs (id, thread_id, number, principal_id, state, attempts, first_seq, last_seq, budget_from, running_since,
                  created_at, events, kind, consent_thread)
SELECT r.id, r.id, 1, o.owner_id, 'running', 1, 1, 1, 0, coalesce(r.started_at, r.created_at), r.created_at,
       json_array(r.key), 'routine', o.thread_id
FROM routine_runs r JOIN routines o ON o.id = r.routine_id
WHERE r.state = 'running' AND NOT EXISTS (SELECT 1 FROM runs j WHERE j.id = r.id);

DROP TABLE routine_runs;
ALTER TABLE routine_runs_of_now RENAME TO routine_runs;
CREATE INDEX routine_runs_waiting ON routine_runs (not_before, due_at) WHERE state = 'waiting';
CREATE INDEX routine_runs_running ON routine_runs (routine_id) WHERE state = 'running';
CREATE INDEX routine_runs_by_age ON routine_runs (routine_id, created_at);
CREATE INDEX routine_runs_notices ON routine_runs (notice_at) WHERE notice_state = 'due';
CREATE UNIQUE INDEX routine_runs_menus ON routine_runs (menu_id) WHERE menu_id IS NOT NULL;

-- One that was to go on waited to be started like a new one. Now it is taken over like those that ran.
UPDATE runs SET state = 'running', running_since = created_at, fence = NULL WHERE kind = 'routine' AND state = 'waiting';
UPDATE routine_runs SET state = 'running' WHERE state = 'waiting' AND EXISTS (SELECT 1 FROM runs j WHERE j.id = routine_runs.id);
