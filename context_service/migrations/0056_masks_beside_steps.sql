-- A step that is masked keeps both forms where they are: nothing large is written again when it is masked, nor when a window is rolled back.
-- `tokens` are those of the form that is seen, `masked_tokens` those of the other one.

UPDATE context.window_block
SET masked = pieces, pieces = verbatim, masked_tokens = verbatim_tokens
WHERE verbatim IS NOT NULL;

ALTER TABLE context.window_block
    DROP COLUMN verbatim,
    DROP COLUMN verbatim_tokens;
