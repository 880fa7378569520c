-- What a window recalls behind a step, by the refs of its passages: a pack says which.

ALTER TABLE context.window_block ADD COLUMN refs text NOT NULL DEFAULT '';
