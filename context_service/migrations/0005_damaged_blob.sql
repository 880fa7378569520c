-- A blob that `storage fsck` found damaged: records still point to it, but no new upload of the same content does.

ALTER TABLE context.blob ADD COLUMN damaged_at timestamptz;
CREATE UNIQUE INDEX blob_content_sound ON context.blob (tenant_id, provider, sha256, size_bytes)
    WHERE state = 'live' AND damaged_at IS NULL;
DROP INDEX context.blob_content;
ALTER INDEX context.blob_content_sound RENAME TO blob_content;
