-- The audit: who decided and did what. Written in the transaction of what it tells, chained afterwards; see
-- core/audit_chain.py.

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

-- Where the chain begins once its older part was dropped.
CREATE TABLE audit_checkpoint (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    last_id INTEGER NOT NULL,
    link    TEXT NOT NULL,
    at      INTEGER NOT NULL,
    key_id  TEXT NOT NULL,
    seal    BLOB NOT NULL
) STRICT;
