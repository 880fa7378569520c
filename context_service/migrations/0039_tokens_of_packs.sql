-- What the packs of a window have together, where its config limits that, and the last of them: each counts once.

ALTER TABLE context.context_window
    ADD COLUMN spent_tokens bigint NOT NULL DEFAULT 0,
    ADD COLUMN spent_epoch integer NOT NULL DEFAULT 0,
    ADD COLUMN spent_seq bigint NOT NULL DEFAULT -1;
