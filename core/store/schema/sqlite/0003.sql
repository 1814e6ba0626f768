-- Previews: what a turn shows of its answer while it is being written.
--
-- A `streaming` row is the one preview of a running turn; its text is never kept. It becomes `replaced` in the
-- transaction in which its turn stops running, and what is then said in its place names it in `replaces`.

CREATE TABLE outbox_next (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    channel    TEXT NOT NULL,
    address    TEXT NOT NULL,
    message    TEXT NOT NULL,                 -- JSON
    state      TEXT NOT NULL CHECK (state IN
                   ('queued', 'sending', 'sent', 'failed', 'ambiguous', 'streaming', 'replaced')),
    settled    INTEGER NOT NULL CHECK (settled IN (0, 1)),   -- nothing more will be done about it
    nonce      TEXT NOT NULL,
    refs       TEXT NOT NULL DEFAULT '[]',    -- JSON list, one per part sent
    order_key  TEXT,                          -- of the last part sent
    edit_of    INTEGER REFERENCES outbox_next (id),
    replaces   INTEGER REFERENCES outbox_next (id),
    prompt_id  TEXT REFERENCES prompts (id),
    turn_id    TEXT REFERENCES turns (id),
    event_id   INTEGER REFERENCES inbox (id),
    not_before INTEGER NOT NULL DEFAULT 0,
    attempts   INTEGER NOT NULL,
    repeats    INTEGER NOT NULL DEFAULT 0,
    error      TEXT,
    created_at INTEGER NOT NULL,
    sent_at    INTEGER,
    CHECK (settled OR state IN ('queued', 'sending', 'ambiguous', 'streaming', 'replaced')),
    CHECK (NOT settled OR state IN ('sent', 'failed', 'ambiguous', 'replaced')),
    CHECK (state NOT IN ('streaming', 'replaced') OR turn_id IS NOT NULL)
) STRICT;
INSERT INTO outbox_next (id, channel, address, message, state, settled, nonce, refs, order_key, edit_of,
                         prompt_id, turn_id, event_id, not_before, attempts, repeats, error, created_at, sent_at)
    SELECT id, channel, address, message, state, settled, nonce, refs, order_key, edit_of,
           prompt_id, turn_id, event_id, not_before, attempts, repeats, error, created_at, sent_at
      FROM outbox ORDER BY id;
DROP TABLE outbox;
ALTER TABLE outbox_next RENAME TO outbox;

CREATE INDEX outbox_unsettled ON outbox (channel, address) WHERE settled = 0;
CREATE INDEX outbox_cards ON outbox (prompt_id) WHERE prompt_id IS NOT NULL;
CREATE INDEX outbox_by_turn ON outbox (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX outbox_by_event ON outbox (event_id) WHERE event_id IS NOT NULL;
CREATE INDEX outbox_edits ON outbox (edit_of) WHERE edit_of IS NOT NULL;
CREATE INDEX outbox_replacing ON outbox (replaces) WHERE replaces IS NOT NULL;
-- A turn has one preview at a time.
CREATE UNIQUE INDEX outbox_streaming ON outbox (turn_id) WHERE state = 'streaming';
