-- Reading along: what people see in a thread in one order, people who answer in the assistant's place, edited
-- calls, and keys to the API.

-- Positions of what is seen in a thread beside its transcript; they are the thread's own, as entries' are.
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

-- Entries of kind 'operator', which may be outside of any turn. Only what the table refuses changes, nothing
-- that is stored: https://www.sqlite.org/lang_altertable.html#otheralter
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
   SET sql = replace(replace(sql, '''note''))', '''note'', ''operator''))'),
                     'turn_id   TEXT NOT NULL REFERENCES', 'turn_id   TEXT REFERENCES')
 WHERE type = 'table' AND name = 'entries';
PRAGMA writable_schema = RESET;

-- What a person made of a call's arguments before they agreed to it.
ALTER TABLE calls ADD COLUMN edited TEXT;
ALTER TABLE calls ADD COLUMN edited_by TEXT;

-- Sessions of browsers and tokens of members: only hashes are kept, a key itself is known to its holder alone.
CREATE TABLE api_keys (
    hash       TEXT NOT NULL PRIMARY KEY,
    kind       TEXT NOT NULL CHECK (kind IN ('session', 'token')),
    user_id    TEXT NOT NULL REFERENCES users (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX api_keys_by_user ON api_keys (user_id, kind);
