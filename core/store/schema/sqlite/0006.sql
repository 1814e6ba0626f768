-- Questions: prompts whose answers are the model's own (`labels`) or the person's (`free_text`).

ALTER TABLE prompts ADD COLUMN labels TEXT;   -- JSON list; null where the answers are `options`
ALTER TABLE prompts ADD COLUMN free_text INTEGER NOT NULL DEFAULT 0 CHECK (free_text IN (0, 1));
