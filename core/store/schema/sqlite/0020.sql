-- The grants that calls of a run were refused for want of, as a JSON list; its owner's notice offers them.

ALTER TABLE routine_runs ADD COLUMN missing_grants TEXT;

-- Whether the promise of a request for a credential still holds: the next text of the person who was asked, on
-- that channel, may be the credential, so it becomes no ordinary text. It outlives the request itself where that
-- ended without an answer (stopped, expired): until the person was told so in reply to a text of theirs.

ALTER TABLE prompts ADD COLUMN awaits INTEGER NOT NULL DEFAULT 0 CHECK (awaits IN (0, 1));
UPDATE prompts SET awaits = 1 WHERE secret IS NOT NULL AND state = 'open';
CREATE INDEX prompts_secret ON prompts (requester_id, awaits) WHERE secret IS NOT NULL;

-- When a message's request was made, so that it can be found out later what became of it: not before `asked_at`,
-- not after `asked_by`, and after the inbox had seen `asked_after`. Of a message that was sent once more,
-- `repeated_part` is the part (counted from 0) that may be shown twice.

ALTER TABLE outbox ADD COLUMN asked_at INTEGER;
ALTER TABLE outbox ADD COLUMN asked_by INTEGER;
ALTER TABLE outbox ADD COLUMN asked_after INTEGER;
ALTER TABLE outbox ADD COLUMN repeated_part INTEGER;

-- The keys of the inbound events a turn answers, as JSON: the audit's records about the turn name them.

ALTER TABLE turns ADD COLUMN events TEXT NOT NULL DEFAULT '[]';
UPDATE turns SET events = (SELECT json_group_array(i.key) FROM inbox i WHERE i.turn_id = turns.id)
    WHERE state IN ('running', 'waiting');
