-- When a window was packed last for a model: a vendor's cache of the prompt is as warm as that is recent.

ALTER TABLE context.context_window
    -- Null: never, or not since this column is there.
    ADD COLUMN packed_at timestamptz,
    -- The newest message of the log that this pack had read.
    ADD COLUMN packed_seq bigint NOT NULL DEFAULT 0;
