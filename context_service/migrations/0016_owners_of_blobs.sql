-- The bytes of purged records stay for the grace time of the settings, and no record says any more whose they were. An
-- erasure of their owner finds them by these hashes. A blob that waits to be removed has one for each owner of the records
-- that pointed at it last; others have none.
ALTER TABLE context.blob ADD COLUMN owners_sha256 bytea[];
