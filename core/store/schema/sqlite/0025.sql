-- The audit: records are numbered per writer, and the linker gives each its place in the chain.

-- Records of before are of writer 0, whose seals are made as they always were.
CREATE TABLE audit_records (
    writer    INTEGER NOT NULL,
    number    INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    kind      TEXT NOT NULL,
    actor     TEXT,
    subject   TEXT NOT NULL,
    thread_id TEXT,
    detail    TEXT NOT NULL,
    key_id    TEXT NOT NULL,
    seal      BLOB NOT NULL,
    position  INTEGER,
    link      TEXT,
    PRIMARY KEY (writer, number),
    CHECK ((position IS NULL) = (link IS NULL))
) STRICT, WITHOUT ROWID;
INSERT INTO audit_records
    SELECT 0, id, at, kind, actor, subject, thread_id, detail, key_id, seal,
           CASE WHEN link IS NOT NULL THEN id END, link FROM audit;
DROP TABLE audit;
ALTER TABLE audit_records RENAME TO audit;
CREATE UNIQUE INDEX audit_chain ON audit (position) WHERE position IS NOT NULL;
CREATE INDEX audit_unlinked ON audit (writer, number) WHERE link IS NULL;
CREATE INDEX audit_by_subject ON audit (subject);

ALTER TABLE audit_checkpoint ADD COLUMN numbers TEXT NOT NULL DEFAULT '';

CREATE TABLE audit_writers (
    writer INTEGER PRIMARY KEY,
    number INTEGER NOT NULL,
    key_id TEXT NOT NULL,
    seal   BLOB NOT NULL
) STRICT;
-- The next lease that is taken seals it.
INSERT INTO audit_writers
    SELECT 0, last, '', x'' FROM (
        SELECT coalesce((SELECT max(number) FROM audit), (SELECT last_id FROM audit_checkpoint)) AS last
    ) WHERE last IS NOT NULL;

-- A count of changes of routines, by which a hub finds those it missed.
CREATE TABLE routine_changes (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    number INTEGER NOT NULL
) STRICT;
