-- Messages that belong together, and answers that quote what they answer.

-- Parts of one album wait for each other until `wait_until`, then they are one input.
ALTER TABLE inbox ADD COLUMN album TEXT;
ALTER TABLE inbox ADD COLUMN wait_until INTEGER NOT NULL DEFAULT 0;
CREATE INDEX inbox_album ON inbox (album) WHERE album IS NOT NULL;

-- The message a turn answers, where others write in between.
ALTER TABLE turns ADD COLUMN reply_to TEXT;
