-- A rollback shows blocks again in the form that they had at its checkpoint, without the names that came later.

-- The epoch since which a block is shown in its later form. Then `later_pieces` and `later_tokens` are those of the
-- earlier form, or NULL if that is not shown again: a vendor refuses reasoning after anything before it has changed.
ALTER TABLE context.window_block ADD COLUMN renewed_epoch integer;
