-- Named vectors are searched within a graph. (No embedding could be written before this migration.)
ALTER TABLE entity.embedding ADD COLUMN graph_name text NOT NULL DEFAULT 'default';
ALTER TABLE entity.embedding ALTER COLUMN graph_name DROP DEFAULT;

-- What one search scans: exactly, row by row.
CREATE INDEX embedding_slice ON entity.embedding (tenant_id, graph_name, name);

-- Inline where a row fits a page, as PLAIN is; but 4,000 dimensions and what stands beside them do not fit.
ALTER TABLE entity.embedding ALTER COLUMN vector SET STORAGE MAIN;
