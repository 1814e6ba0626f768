-- Leases: which hub has what in hand, so that another takes over only what nobody holds.

CREATE TABLE leases (
    fence       INTEGER PRIMARY KEY AUTOINCREMENT,
    host        TEXT NOT NULL,
    taken_at    INTEGER NOT NULL,
    lease_until INTEGER NOT NULL
) STRICT;

-- Numbers of before are of no lease: the first hub that starts takes over everything.
ALTER TABLE routine_runs RENAME COLUMN lease_until TO fence;
ALTER TABLE runs ADD COLUMN fence INTEGER;
ALTER TABLE runs ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN fence INTEGER;
ALTER TABLE calls ADD COLUMN host TEXT;
