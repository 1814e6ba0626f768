-- Joint prompts: several calls of one reply that are asked about together. They are bound by their `prompt_id`.

-- JSON list of what is asked, in order; null where it is about one call, or none.
ALTER TABLE prompts ADD COLUMN calls TEXT;
