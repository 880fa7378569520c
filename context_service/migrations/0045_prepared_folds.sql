-- Folds that are worked out ahead of need: the last one of a window, which holds as long as its epoch.

ALTER TABLE context.context_window
    -- What becomes of its blocks and summaries, with the texts of new ones: JSON. Null: there is none, or it was
    -- committed, or the prefix broke.
    ADD COLUMN prepared text,
    -- The epoch that the last one is, or was, of.
    ADD COLUMN prepared_epoch integer;
