-- Credentials that people are asked for.

ALTER TABLE prompts ADD COLUMN secret TEXT;   -- the name under which the answer goes into the vault
