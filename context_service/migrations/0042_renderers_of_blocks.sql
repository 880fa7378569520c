-- Which version rendered a block: it is sent as it was for ever.

ALTER TABLE context.window_block ADD COLUMN renderer smallint NOT NULL DEFAULT 1;
