-- One journal for the turns of chats and the runs of routines.

ALTER TABLE turns RENAME TO runs;
ALTER TABLE runs ADD COLUMN kind TEXT NOT NULL DEFAULT 'chat' CHECK (kind IN ('chat', 'routine'));
ALTER TABLE runs ADD COLUMN consent_thread TEXT;
ALTER TABLE threads ADD COLUMN kind TEXT NOT NULL DEFAULT 'chat' CHECK (kind IN ('chat', 'routine'));
-- An index can't be renamed.
DROP INDEX turns_active;
CREATE UNIQUE INDEX runs_active ON runs (thread_id) WHERE state IN ('running', 'waiting');

-- What a deleted run would be looked for in.
CREATE INDEX threads_of_routines ON threads (scope) WHERE kind = 'routine';
CREATE INDEX entries_by_run ON entries (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX inbox_by_run ON inbox (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX feed_by_run ON feed (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX gates_by_call ON gates (call_id) WHERE call_id IS NOT NULL;

-- Each run of before has a thread of its own; the runs to come share them.
INSERT INTO threads (id, owner_id, channel, scope, address, title, created_at, last_active_at, last_seq, last_turn, kind)
SELECT r.id, o.owner_id, 'routine', o.id, '', o.name, r.created_at, coalesce(r.started_at, r.created_at),
       (SELECT max(s.seq) FROM run_steps s WHERE s.run_id = r.id), 1, 'routine'
FROM routine_runs r JOIN routines o ON o.id = r.routine_id
WHERE EXISTS (SELECT 1 FROM run_steps s WHERE s.run_id = r.id);

INSERT INTO runs (id, thread_id, number, principal_id, state, attempts, first_seq, last_seq, budget_from, running_since,
                  created_at, ended_at, events, kind, consent_thread)
SELECT r.id, r.id, 1, o.owner_id,
       CASE r.state WHEN 'ok' THEN 'done' WHEN 'attention' THEN 'done' WHEN 'interrupted' THEN 'crashed'
                    WHEN 'running' THEN 'running' WHEN 'waiting' THEN 'waiting' ELSE 'failed' END,
       1, 1, t.last_seq, 1, CASE r.state WHEN 'running' THEN coalesce(r.started_at, r.created_at) END,
       r.created_at, r.ended_at, json_array(r.key), 'routine', o.thread_id
FROM routine_runs r JOIN routines o ON o.id = r.routine_id JOIN threads t ON t.id = r.id;

INSERT INTO entries (thread_id, seq, turn_id, at, kind, text, call_id, name, extra)
SELECT run_id, seq, run_id, at, kind, text, call_id, name, extra FROM run_steps;

INSERT INTO calls (id, thread_id, seq, turn_id, tool, effect, state, status, pid, process_group, started_ticks,
                   started_at, ended_at)
SELECT s.call_id, s.run_id, s.seq, s.run_id, s.name, s.effect, s.state,
       CASE s.state WHEN 'ended' THEN coalesce((SELECT e.name FROM run_steps e WHERE e.run_id = s.run_id
                                                AND e.call_id = s.call_id AND e.kind = 'result'), 'unknown') END,
       s.pid, s.process_group, s.started_ticks, s.started_at, s.ended_at
FROM run_steps s WHERE s.kind = 'call';

DROP TABLE run_steps;
