-- Money, conversations and settings per thread.

-- Jobs: their runs are of a kind of their own. Only so can a CHECK be changed and its table stay as it is; see
-- "Making Other Kinds Of Table Schema Changes" in SQLite's documentation of ALTER TABLE.

PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (kind IN (''chat'', ''routine''))', 'CHECK (kind IN (''chat'', ''routine'', ''job'', ''subtask'', ''settings''))')
WHERE type = 'table' AND name IN ('threads', 'runs');
PRAGMA writable_schema = RESET;
CREATE INDEX runs_of_jobs ON runs (principal_id) WHERE kind = 'job' AND state = 'running';

CREATE TABLE jobs (
    id              TEXT NOT NULL PRIMARY KEY,  -- also that of its thread and of its run
    short_id        TEXT NOT NULL,
    owner_id        TEXT NOT NULL REFERENCES users (id),
    key             TEXT NOT NULL,
    title           TEXT NOT NULL,
    task            TEXT NOT NULL,
    question        TEXT,  -- the model's first message; null: the task
    state           TEXT NOT NULL
                        CHECK (state IN ('pending', 'in_progress', 'completed', 'submitted', 'accepted',
                                         'failed', 'stuck', 'cancelled')),
    scope           TEXT NOT NULL,  -- JSON list: the tools it was given when it was dispatched
    iterations      INTEGER NOT NULL CHECK (iterations >= 1),
    timeout_s       INTEGER NOT NULL CHECK (timeout_s >= 1),
    max_tokens      INTEGER,  -- null: no limit
    max_micro_usd   INTEGER,  -- null: no limit
    priority        INTEGER NOT NULL,
    thread_id       TEXT REFERENCES threads (id),  -- the conversation that hears of it
    parent          TEXT REFERENCES jobs (id),  -- the job it repeats
    repair_attempts INTEGER NOT NULL DEFAULT 0,
    review          INTEGER NOT NULL DEFAULT 0 CHECK (review IN (0, 1)),  -- its owner accepts or rejects its result
    menu_id         TEXT,  -- the id in the buttons of its newest message
    monitor_menu    TEXT,  -- the id in the buttons of the message that shows it as it runs
    shown_seq       INTEGER NOT NULL DEFAULT 0,  -- the position in its thread up to which this message shows it
    notice          TEXT,  -- the message about its end, until its owner's quiet hours are over; the files for its run's notice
    notice_at       INTEGER,  -- when this message is sent
    reason          TEXT NOT NULL,  -- of the last change
    result          TEXT,
    result_seq      INTEGER,  -- its position among the events, after the change of state that ended the work
    plan            TEXT,  -- JSON: the calls that it begins with; null: it has none
    plan_state      TEXT CHECK (plan_state IN ('running', 'ended')),  -- null: the model was not asked for one
    run_id          TEXT,  -- the routine's run whose work it is, which may be gone
    routine_id      TEXT,  -- the run's routine, also of a job that repeats this one; it may be gone
    origin          TEXT NOT NULL,  -- the first of the jobs that repeat one another: grants are its
    day_tokens      INTEGER,  -- what the routine's budget of the day had left; null: no limit
    day_micro_usd   INTEGER,
    missing_grants  TEXT,  -- JSON list: grants that calls were refused for want of; its message offers them
    created_at      INTEGER NOT NULL,
    started_at      INTEGER,
    ended_at        INTEGER,
    UNIQUE (owner_id, short_id),
    UNIQUE (owner_id, key)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX jobs_menus ON jobs (menu_id) WHERE menu_id IS NOT NULL;
CREATE UNIQUE INDEX jobs_monitors ON jobs (monitor_menu) WHERE monitor_menu IS NOT NULL;
CREATE INDEX jobs_pending ON jobs (owner_id, priority, created_at) WHERE state = 'pending';
CREATE INDEX jobs_notices ON jobs (notice_at) WHERE notice_at IS NOT NULL;
CREATE INDEX jobs_states ON jobs (state);
CREATE UNIQUE INDEX jobs_runs ON jobs (run_id) WHERE run_id IS NOT NULL;

-- Every change of a job's state, and what became of its plan meanwhile. Positions are those of its thread, as those of entries.
CREATE TABLE job_changes (
    job_id TEXT NOT NULL REFERENCES jobs (id),
    seq    INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    before TEXT,  -- null: it was dispatched
    state  TEXT NOT NULL,
    reason TEXT NOT NULL,
    actor  TEXT,  -- a user's id; null: the hub itself
    PRIMARY KEY (job_id, seq)
) STRICT, WITHOUT ROWID;

-- What people say to a job while it works.
CREATE TABLE job_messages (
    id        INTEGER PRIMARY KEY,
    job_id    TEXT NOT NULL REFERENCES jobs (id),
    key       TEXT NOT NULL,
    text      TEXT NOT NULL,
    at        INTEGER NOT NULL,
    joined_at INTEGER,  -- null: the model has not heard it yet
    UNIQUE (job_id, key)
) STRICT;
CREATE INDEX job_messages_waiting ON job_messages (job_id, id) WHERE joined_at IS NULL;

SELECT 1;

-- Money: a row for each call of a model, instead of sums in the runs of routines.
-- A row for each call of a model, written before the call is made. `micro_usd` is what budgets count.
CREATE TABLE usage (
    id                  TEXT NOT NULL PRIMARY KEY,
    run_id              TEXT NOT NULL,  -- a row of `runs`, which may be gone; for other kinds, of that work
    kind                TEXT NOT NULL CHECK (kind = 'chat' OR kind = 'routine' OR kind = 'job' OR kind = 'summary' OR kind = 'test'),
    thread_id           TEXT,
    user_id             TEXT NOT NULL,
    routine_id          TEXT,
    job_id              TEXT,
    plan_step           TEXT,
    model               TEXT NOT NULL,
    provider            TEXT NOT NULL,
    attempt             INTEGER NOT NULL CHECK (attempt >= 1),
    reserved_tokens     INTEGER NOT NULL,
    reserved_micro_usd  INTEGER NOT NULL,
    input_tokens        INTEGER,  -- as the provider counted them; null: it did not, or not yet
    output_tokens       INTEGER,
    cached_input_tokens INTEGER,
    cache_write_tokens  INTEGER,
    micro_usd           INTEGER NOT NULL,  -- the cost; the reservation until the call is settled
    state               TEXT NOT NULL CHECK (state = 'reserved' OR state = 'settled' OR state = 'estimated'),
    reserved_at         INTEGER NOT NULL,
    settled_at          INTEGER,
    fence               INTEGER,  -- reserved: the lease of the hub that makes the call
    CHECK ((state = 'settled') = (input_tokens IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_by_time ON usage (reserved_at, user_id, micro_usd);
CREATE INDEX usage_by_thread ON usage (thread_id);
CREATE INDEX usage_by_routine ON usage (routine_id, reserved_at) WHERE routine_id IS NOT NULL;
CREATE INDEX usage_by_job ON usage (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX usage_by_run ON usage (run_id) WHERE routine_id IS NOT NULL;
CREATE INDEX usage_reserved ON usage (run_id) WHERE state = 'reserved';

-- What routines used before stands in one row for each run, under no model's name.
INSERT INTO usage (id, run_id, kind, thread_id, user_id, routine_id, model, provider, attempt, reserved_tokens,
                   reserved_micro_usd, input_tokens, output_tokens, cached_input_tokens, cache_write_tokens, micro_usd,
                   state, reserved_at, settled_at)
SELECT r.id, r.id, 'routine', NULL, o.owner_id, o.id, '', '', 1, r.input_tokens + r.output_tokens, r.cost_micro_usd,
       r.input_tokens, r.output_tokens, 0, 0, r.cost_micro_usd, 'settled', coalesce(r.started_at, r.created_at),
       coalesce(r.ended_at, r.created_at)
FROM routine_runs r JOIN routines o ON o.id = r.routine_id
WHERE r.input_tokens + r.output_tokens + r.cost_micro_usd > 0;

ALTER TABLE routine_runs DROP COLUMN input_tokens;
ALTER TABLE routine_runs DROP COLUMN output_tokens;
ALTER TABLE routine_runs DROP COLUMN cost_micro_usd;

-- Input that may join a running turn.

ALTER TABLE inbox ADD COLUMN steers INTEGER NOT NULL DEFAULT 0 CHECK (steers IN (0, 1));

-- Search in what was said, also before now. The function search_terms is the upgrade's own.

-- What was said in threads, a turn at a time and in the order of their ends; its words are in said_terms.
CREATE TABLE said (
    id        INTEGER PRIMARY KEY,
    thread_id TEXT NOT NULL REFERENCES threads (id),
    first_seq INTEGER NOT NULL,
    last_seq  INTEGER NOT NULL,
    at        INTEGER NOT NULL
) STRICT;
CREATE INDEX said_by_thread ON said (thread_id, last_seq);

-- Holds terms made by core.store.search, so that words of scripts without spaces are found.
CREATE VIRTUAL TABLE said_terms USING fts5
    (terms, content = '', columnsize = 0, tokenize = "unicode61 remove_diacritics 0");

INSERT INTO said (thread_id, first_seq, last_seq, at)
SELECT e.thread_id, min(e.seq), max(e.seq), max(e.at) FROM entries e JOIN threads t ON t.id = e.thread_id
WHERE t.kind = 'chat' AND e.kind IN ('user', 'assistant', 'operator') AND e.text <> ''
GROUP BY e.thread_id, coalesce(e.turn_id, e.seq) ORDER BY max(e.at), e.thread_id, max(e.seq);

INSERT INTO said_terms (rowid, terms)
SELECT s.id, search_terms(json_group_array(e.text)) FROM said s JOIN entries e ON e.thread_id = s.thread_id
    AND e.seq BETWEEN s.first_seq AND s.last_seq AND e.kind IN ('user', 'assistant', 'operator') AND e.text <> ''
GROUP BY s.id;

ALTER TABLE threads ADD COLUMN searched_seq INTEGER NOT NULL DEFAULT 0;
UPDATE threads SET searched_seq = coalesce((SELECT max(s.last_seq) FROM said s WHERE s.thread_id = threads.id), 0);
CREATE INDEX threads_unsearched ON threads (last_active_at) WHERE kind = 'chat' AND last_seq > searched_seq;

-- The audit: records are numbered per writer, and the linker gives each its place in the chain.

-- Records of before are of writer 0, whose seals are made as they always were.
CREATE TABLE audit_records (
    writer    INTEGER NOT NULL,
    number    INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    kind      TEXT NOT NULL,
    actor     TEXT,
    subject   TEXT NOT NULL,
    thread_id TEXT,
    detail    TEXT NOT NULL,
    key_id    TEXT NOT NULL,
    seal      BLOB NOT NULL,
    position  INTEGER,
    link      TEXT,
    PRIMARY KEY (writer, number),
    CHECK ((position IS NULL) = (link IS NULL))
) STRICT, WITHOUT ROWID;
INSERT INTO audit_records
    SELECT 0, id, at, kind, actor, subject, thread_id, detail, key_id, seal,
           CASE WHEN link IS NOT NULL THEN id END, link FROM audit;
DROP TABLE audit;
ALTER TABLE audit_records RENAME TO audit;
CREATE UNIQUE INDEX audit_chain ON audit (position) WHERE position IS NOT NULL;
CREATE INDEX audit_unlinked ON audit (writer, number) WHERE link IS NULL;
CREATE INDEX audit_by_subject ON audit (subject);

ALTER TABLE audit_checkpoint ADD COLUMN numbers TEXT NOT NULL DEFAULT '';

CREATE TABLE audit_writers (
    writer INTEGER PRIMARY KEY,
    number INTEGER NOT NULL,
    key_id TEXT NOT NULL,
    seal   BLOB NOT NULL
) STRICT;
-- The next lease that is taken seals it.
INSERT INTO audit_writers
    SELECT 0, last, '', x'' FROM (
        SELECT coalesce((SELECT max(number) FROM audit), (SELECT last_id FROM audit_checkpoint)) AS last
    ) WHERE last IS NOT NULL;

-- Undo: marks on entries, and how far back a thread can go.

ALTER TABLE entries ADD COLUMN undone INTEGER;
CREATE INDEX entries_undone ON entries (thread_id, undone) WHERE undone IS NOT NULL;
ALTER TABLE threads ADD COLUMN checkpoints INTEGER NOT NULL DEFAULT 0;
ALTER TABLE threads ADD COLUMN origin_id TEXT;
ALTER TABLE threads ADD COLUMN origin_turn INTEGER;
ALTER TABLE threads ADD COLUMN closed_at INTEGER;
ALTER TABLE threads ADD COLUMN archived_at INTEGER;
ALTER TABLE threads ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
CREATE TABLE menus (
    id         TEXT NOT NULL PRIMARY KEY,
    kind       TEXT NOT NULL CHECK (kind IN ('checkpoints', 'threads', 'deletion')),
    user_id    TEXT NOT NULL REFERENCES users (id),
    thread_id  TEXT REFERENCES threads (id),
    scope      TEXT,
    items      TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
UPDATE threads SET checkpoints = min(20, (SELECT count(*) FROM runs r WHERE r.thread_id = threads.id
    AND r.state NOT IN ('running', 'waiting'))) WHERE kind = 'chat';

-- The model and effort chosen for a conversation, and by the operator for a person.
ALTER TABLE threads ADD COLUMN model TEXT;
ALTER TABLE threads ADD COLUMN thinking TEXT;
ALTER TABLE users ADD COLUMN model TEXT;
ALTER TABLE users ADD COLUMN thinking TEXT;

-- Messages whose choices are words that a press sends in the person's name.
ALTER TABLE outbox ADD COLUMN menu_id TEXT;
CREATE INDEX outbox_menus ON outbox (menu_id) WHERE menu_id IS NOT NULL;

-- The newest run of a thread, however many there are.
CREATE INDEX runs_by_thread ON runs (thread_id, number);

-- Marks on messages whose turns were undone.
ALTER TABLE outbox ADD COLUMN marks INTEGER NOT NULL DEFAULT 0 CHECK (marks IN (0, 1));

-- Messages that show jobs as they run.
ALTER TABLE outbox ADD COLUMN job_id TEXT REFERENCES jobs (id);
ALTER TABLE outbox ADD COLUMN paced INTEGER NOT NULL DEFAULT 0 CHECK (paced IN (0, 1));
CREATE UNIQUE INDEX outbox_jobs ON outbox (job_id) WHERE job_id IS NOT NULL AND edit_of IS NULL;
CREATE UNIQUE INDEX outbox_job_changes ON outbox (job_id) WHERE job_id IS NOT NULL AND edit_of IS NOT NULL;

-- How often tools have failed in a row in unattended runs, which go without them from `left_out_at` on.
CREATE TABLE tool_failures (
    tool        TEXT    NOT NULL PRIMARY KEY,
    failures    INTEGER NOT NULL,
    error       TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    left_out_at INTEGER
) STRICT, WITHOUT ROWID;

-- Files of deleted threads that are still to be removed.
CREATE TABLE deleted_files (
    kind TEXT NOT NULL CHECK (kind IN ('upload', 'archive', 'outputs')),
    name TEXT NOT NULL,  -- an upload's id; of an archive and of outputs, their thread's
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

-- One-time schedules.
ALTER TABLE routines ADD COLUMN done_at INTEGER;
CREATE INDEX routines_done ON routines (done_at) WHERE done_at IS NOT NULL;

-- Sign-ins, and the changes of jobs in containers.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '''continue'', ''menu'')', '''continue'', ''menu'', ''auth'', ''changes'', ''credential'', ''settings'')')
WHERE type = 'table' AND name = 'gates';
-- Invitations to the console.
UPDATE sqlite_schema SET sql = replace(sql, '''token'')', '''token'', ''invitation'')')
WHERE type = 'table' AND name = 'api_keys';
PRAGMA writable_schema = RESET;
ALTER TABLE gates ADD COLUMN link TEXT;
-- Changes of the configuration file that wait for approval, or that are approved and still to be written.
CREATE TABLE settings_changes (
    id       TEXT NOT NULL PRIMARY KEY REFERENCES gates (id),
    before   TEXT NOT NULL,  -- SHA-256 of the file that it changes
    after    TEXT NOT NULL,  -- SHA-256 of the file that it makes
    wanted   TEXT NOT NULL,  -- JSON: the keys and values, without any secret
    approved INTEGER NOT NULL DEFAULT 0 CHECK (approved IN (0, 1))
) STRICT, WITHOUT ROWID;
-- Sign-ins that people began at a server: their link was shown.
CREATE TABLE sign_ins (
    id          TEXT NOT NULL PRIMARY KEY,  -- of its gate, if it has one
    server      TEXT NOT NULL,
    user_id     TEXT NOT NULL REFERENCES users (id),
    state       TEXT NOT NULL CHECK (state IN ('shown', 'answered', 'redeeming')),
    digest      TEXT NOT NULL,  -- SHA-256 of the OAuth state, which is good once
    key_id      TEXT NOT NULL,
    sealed      BLOB NOT NULL,  -- what the attempt is made of
    code_key_id TEXT,
    code        BLOB,  -- what came back; null: nothing yet
    fence       INTEGER,  -- redeeming: the lease of the hub that does it
    expires_at  INTEGER NOT NULL,
    CHECK ((state = 'shown') = (code IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_ins_by_person ON sign_ins (user_id, server);
CREATE INDEX sign_ins_answered ON sign_ins (id) WHERE state <> 'shown';
-- Sign-ins that ended here, whose tokens are still to be revoked.
CREATE TABLE sign_outs (
    id      TEXT    NOT NULL PRIMARY KEY,
    server  TEXT    NOT NULL,
    user_id TEXT    NOT NULL REFERENCES users (id),
    key_id  TEXT    NOT NULL,
    sealed  BLOB    NOT NULL,  -- the tokens
    tries   INTEGER NOT NULL,
    due_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The MCP servers that people have added, each for themselves.
CREATE TABLE extensions (
    name       TEXT    NOT NULL PRIMARY KEY,  -- unique in the hub: tools are named after it
    owner_id   TEXT    NOT NULL REFERENCES users (id),
    definition TEXT    NOT NULL,  -- JSON: how it is connected to, without any secret
    enabled    INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX extensions_of_person ON extensions (owner_id);

-- Jobs in containers. `number`: of the container's user and directory.
CREATE TABLE job_containers (
    job_id      TEXT NOT NULL PRIMARY KEY REFERENCES jobs (id),
    number      INTEGER NOT NULL UNIQUE,
    project     TEXT NOT NULL,  -- the directory of the workspace that it works on a copy of; '.': all of it
    mode        TEXT NOT NULL,  -- 'worker', or the agent CLI that works inside
    image       TEXT,  -- chosen for it; null: the configured one
    token_hash  TEXT,  -- of what its worker names itself by; null: no request is answered
    changes     TEXT,  -- JSON: the files in which its copy differs at its end
    digest      TEXT,  -- of the changes: what a person accepts
    diff        TEXT,  -- the changes as people read them
    accepted_by TEXT,  -- the person who accepted them, until the files of the project are changed
    used        TEXT  -- JSON: the limits of its container, and what it used and reached; null: it never began
) STRICT, WITHOUT ROWID;
CREATE INDEX job_containers_accepted ON job_containers (job_id) WHERE accepted_by IS NOT NULL;

-- What workers in containers asked for, each with the answer that a repetition gets as well.
CREATE TABLE job_requests (
    job_id TEXT NOT NULL REFERENCES jobs (id),
    seq    INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    kind   TEXT NOT NULL CHECK (kind IN ('model', 'result', 'note', 'messages', 'told', 'credential', 'complete')),
    answer TEXT NOT NULL,
    PRIMARY KEY (job_id, seq)
) STRICT, WITHOUT ROWID;

-- What people removed and can bring back until `expires_at`.
CREATE TABLE undos (
    id         TEXT NOT NULL PRIMARY KEY,
    kind       TEXT NOT NULL CHECK (kind IN ('memory', 'access')),
    user_id    TEXT NOT NULL REFERENCES users (id),  -- whose it was
    removed    TEXT NOT NULL,  -- JSON
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The same CHECKs of the tables that each message writes to, without lists of more than two: for each of those
-- SQLite makes a temporary table whenever a row is written.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '(state IN (''running'', ''waiting'', ''done'', ''failed'', ''stopped'', ''crashed''))', '(state = ''running'' OR state = ''waiting'' OR state = ''done'' OR state = ''failed'' OR state = ''stopped'' OR state = ''crashed'')')
WHERE type = 'table' AND name = 'runs';
UPDATE sqlite_schema SET sql = replace(sql, '(kind IN (''chat'', ''routine'', ''job'', ''subtask'', ''settings''))', '(kind = ''chat'' OR kind = ''routine'' OR kind = ''job'' OR kind = ''subtask'' OR kind = ''settings'')')
WHERE type = 'table' AND name = 'runs';
UPDATE sqlite_schema SET sql = replace(sql, '(kind IN (''user'', ''assistant'', ''call'', ''result'', ''summary'', ''note'', ''operator''))', '(kind = ''user'' OR kind = ''assistant'' OR kind = ''call'' OR kind = ''result'' OR kind = ''summary'' OR kind = ''note'' OR kind = ''operator'')')
WHERE type = 'table' AND name = 'entries';
UPDATE sqlite_schema SET sql = replace(sql, '(kind IN (''message'', ''choice'', ''unreadable''))', '(kind = ''message'' OR kind = ''choice'' OR kind = ''unreadable'')')
WHERE type = 'table' AND name = 'inbox';
UPDATE sqlite_schema SET sql = replace(sql, '(state IN' || char(10) || '                   (', '(state IN (')
WHERE type = 'table' AND name = 'outbox';  -- as schema 20 wrote it
UPDATE sqlite_schema SET sql = replace(sql, '(state IN (''queued'', ''sending'', ''sent'', ''failed'', ''ambiguous'', ''streaming'', ''replaced''))', '(state = ''queued'' OR state = ''sending'' OR state = ''sent'' OR state = ''failed'' OR state = ''ambiguous'' OR state = ''streaming'' OR state = ''replaced'')')
WHERE type = 'table' AND name = 'outbox';
UPDATE sqlite_schema SET sql = replace(sql, '(settled OR state IN (''queued'', ''sending'', ''ambiguous'', ''streaming'', ''replaced''))', '(settled OR state NOT IN (''sent'', ''failed''))')
WHERE type = 'table' AND name = 'outbox';
UPDATE sqlite_schema SET sql = replace(sql, '(NOT settled OR state IN (''sent'', ''failed'', ''ambiguous'', ''replaced''))', '(NOT settled OR state = ''sent'' OR state = ''failed'' OR state = ''ambiguous'' OR state = ''replaced'')')
WHERE type = 'table' AND name = 'outbox';
PRAGMA writable_schema = RESET;
