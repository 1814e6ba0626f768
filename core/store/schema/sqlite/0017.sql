-- What hooks were asked about; written only where there are such hooks.

-- Messages on their way out about which hooks have spoken.
CREATE TABLE outbound_judged (
    outbox_id INTEGER PRIMARY KEY REFERENCES outbox (id),
    at        INTEGER NOT NULL
) STRICT;

-- Whose session hooks were told of: begun, or (ended_at) over.
CREATE TABLE hooked_sessions (
    user_id  TEXT NOT NULL PRIMARY KEY REFERENCES users (id),
    began_at INTEGER NOT NULL,
    ended_at INTEGER
) STRICT, WITHOUT ROWID;
