-- What people have said about tools once and for all, and secrets of which only the vault's key makes sense.

CREATE TABLE tool_settings (
    user_id    TEXT NOT NULL REFERENCES users (id),
    tool       TEXT NOT NULL,
    setting    TEXT NOT NULL CHECK (setting IN ('always_allow', 'ask_each_time', 'disabled')),
    changed_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, tool)
) STRICT, WITHOUT ROWID;

CREATE TABLE secrets (
    name       TEXT NOT NULL PRIMARY KEY,
    key_id     TEXT NOT NULL,
    sealed     BLOB NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
