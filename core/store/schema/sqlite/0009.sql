-- Notices: what the hub says of its own accord, once for each key.

-- Where the account was last heard in private; null: nowhere yet.
ALTER TABLE identities ADD COLUMN direct_address TEXT;

CREATE TABLE notices (
    key        TEXT NOT NULL PRIMARY KEY,
    outbox_id  INTEGER NOT NULL REFERENCES outbox (id),   -- the one tried last
    elsewhere  TEXT NOT NULL,                             -- JSON list: where it goes if that one is refused
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX notices_by_row ON notices (outbox_id);
