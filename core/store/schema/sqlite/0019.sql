-- Prompts whose call was changed: the position of the first of the answers that are shown since then, and since
-- when. A press of an answer that is no longer shown is no answer to what is asked now.

ALTER TABLE prompts ADD COLUMN first_choice INTEGER NOT NULL DEFAULT 0;
ALTER TABLE prompts ADD COLUMN changed_at INTEGER;
