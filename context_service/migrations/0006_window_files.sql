-- What the files of a block use of the vendor's limits: a JSON list of two lists of numbers, of the whole and of the
-- masked block. Empty if it has no files.
ALTER TABLE context.window_block ADD COLUMN files text NOT NULL DEFAULT '';
