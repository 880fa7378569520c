-- no transaction
-- Find the answers and the vectors that go with a context, while others are written.

DROP INDEX CONCURRENTLY IF EXISTS context.request_about;

CREATE INDEX CONCURRENTLY IF NOT EXISTS request_about ON context.request (tenant_id, about_id) WHERE about_id IS NOT NULL;

DROP INDEX CONCURRENTLY IF EXISTS context.embedding_context;

CREATE INDEX CONCURRENTLY IF NOT EXISTS embedding_context ON context.embedding (tenant_id, context_id) WHERE context_id IS NOT NULL;
