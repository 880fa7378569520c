-- The speaker of each statement in the state of a window, so that each line says who spoke.
ALTER TABLE context.window_entry
    -- Such as `user Ann` or `tool run_tests`; empty for an entry of a caller.
    ADD COLUMN speaker text NOT NULL DEFAULT '';
