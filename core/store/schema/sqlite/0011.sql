-- Prompts that nobody answers: one reminder before they expire, and others who are asked, too.

ALTER TABLE prompts ADD COLUMN remind_at INTEGER;     -- null: never, or done
ALTER TABLE prompts ADD COLUMN escalate_to TEXT NOT NULL DEFAULT '[]';   -- JSON list of user ids
ALTER TABLE prompts ADD COLUMN escalate_at INTEGER;   -- null: never, or done
ALTER TABLE prompts ADD COLUMN escalated INTEGER NOT NULL DEFAULT 0 CHECK (escalated IN (0, 1));
CREATE INDEX prompts_reminding ON prompts (remind_at) WHERE state = 'open' AND remind_at IS NOT NULL;
CREATE INDEX prompts_escalating ON prompts (escalate_at) WHERE state = 'open' AND escalate_at IS NOT NULL;
