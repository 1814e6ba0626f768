-- The schema in today's words, and each person's time zone.

-- What waits for a person's answer is a gate.
ALTER TABLE prompts RENAME TO gates;
ALTER TABLE calls RENAME COLUMN prompt_id TO gate_id;
ALTER TABLE votes RENAME COLUMN prompt_id TO gate_id;
ALTER TABLE outbox RENAME COLUMN prompt_id TO gate_id;
ALTER TABLE feed RENAME COLUMN prompt_id TO gate_id;

-- An index can't be renamed.
DROP INDEX prompts_open;
DROP INDEX prompts_expiring;
DROP INDEX prompts_by_turn;
DROP INDEX prompts_reminding;
DROP INDEX prompts_escalating;
DROP INDEX prompts_secret;
CREATE INDEX gates_open ON gates (thread_id, created_at) WHERE state = 'open';
CREATE INDEX gates_expiring ON gates (expires_at) WHERE state = 'open';
CREATE INDEX gates_by_turn ON gates (turn_id, kind, created_at);
CREATE INDEX gates_reminding ON gates (remind_at) WHERE state = 'open' AND remind_at IS NOT NULL;
CREATE INDEX gates_escalating ON gates (escalate_at) WHERE state = 'open' AND escalate_at IS NOT NULL;
CREATE INDEX gates_secret ON gates (requester_id, awaits) WHERE secret IS NOT NULL;

ALTER TABLE tool_halt RENAME TO tool_pause;
ALTER TABLE routines RENAME COLUMN budget_told_at TO budget_notice_at;
DROP INDEX refusals_told;
CREATE INDEX refusals_answered ON refusals (channel, answered_at);

ALTER TABLE users ADD COLUMN timezone TEXT;
