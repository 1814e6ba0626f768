-- How many calls of a model were made for a guest on a day; one row for each of them.

CREATE TABLE model_calls (
    user_id TEXT NOT NULL PRIMARY KEY REFERENCES users (id),
    day     TEXT NOT NULL,   -- as YYYY-MM-DD, in the hub's time zone
    calls   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
