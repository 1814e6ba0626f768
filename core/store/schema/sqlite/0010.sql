-- How people want to be asked, in general and in one conversation, and how far turns go by themselves; and when
-- calls ran.

-- JSON of what is set of max_rounds, max_tools, loop_timeout_s; null where nothing is.
ALTER TABLE threads ADD COLUMN limits TEXT;
ALTER TABLE users ADD COLUMN preset TEXT;
ALTER TABLE users ADD COLUMN limits TEXT;

-- The model's round that asked for it, counted since a person last had a say; null before this was kept.
ALTER TABLE calls ADD COLUMN round INTEGER;
-- Null for calls that did not run.
ALTER TABLE calls ADD COLUMN started_at INTEGER;
ALTER TABLE calls ADD COLUMN ended_at INTEGER;
CREATE INDEX calls_by_thread ON calls (thread_id, seq);
