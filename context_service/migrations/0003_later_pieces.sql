-- The form of a block after the next break of its window's prefix: with the name of its speaker, or without reasoning.
ALTER TABLE context.window_block
    ADD COLUMN later_pieces text,
    ADD COLUMN later_tokens integer,
    -- It is taken only if this role has several speakers by then; empty: in any case.
    ADD COLUMN later_role text NOT NULL DEFAULT '';
ALTER TABLE context.context_window
    -- The last message of the log when the prefix broke last.
    ADD COLUMN broken_seq bigint NOT NULL DEFAULT 0,
    -- The first two speakers of each role, one a line.
    ADD COLUMN speakers text NOT NULL DEFAULT '';
