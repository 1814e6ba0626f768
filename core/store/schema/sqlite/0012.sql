-- Stopping all tools at once, how often somebody used one lately, and texts people keep under a path.

-- While there is a row, no tool runs.
CREATE TABLE tool_halt (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    by TEXT NOT NULL REFERENCES users (id),
    at INTEGER NOT NULL
) STRICT;

-- Runs of tools whose use is limited; rows older than the longest limit are dropped.
CREATE TABLE tool_uses (
    id      INTEGER PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    tool    TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
CREATE INDEX tool_uses_lately ON tool_uses (user_id, tool, at);

-- Null for a note. A document's `key` is that of its last change.
ALTER TABLE memories ADD COLUMN path TEXT;
CREATE UNIQUE INDEX memories_by_path ON memories (user_id, path) WHERE path IS NOT NULL;
