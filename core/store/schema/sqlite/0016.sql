-- Runs of routines that use tools, step by step; what a routine may use a day; a thread of its own.

-- What all runs of a day may come to together; null: as much as they like.
ALTER TABLE routines ADD COLUMN daily_runs INTEGER;
ALTER TABLE routines ADD COLUMN daily_tokens INTEGER;
ALTER TABLE routines ADD COLUMN daily_micro_usd INTEGER;
ALTER TABLE routines ADD COLUMN budget_told_at INTEGER;   -- when its owner was last told that it is used up
-- JSON: channel, the address it was made at, its own address there; null: it has none yet.
ALTER TABLE routines ADD COLUMN own_place TEXT;

ALTER TABLE routine_runs DROP COLUMN effect_started;      -- its steps tell
ALTER TABLE routine_runs ADD COLUMN cost_micro_usd INTEGER NOT NULL DEFAULT 0;
ALTER TABLE routine_runs ADD COLUMN scope TEXT;           -- JSON: the tools it was given when it began

-- As entries of a thread; a call's row also holds how far it is.
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
