-- no transaction
-- Find what changed of a context's tasks and artifacts, while others are written.

DROP INDEX CONCURRENTLY IF EXISTS context.task_change;

CREATE INDEX CONCURRENTLY IF NOT EXISTS task_change ON context.task (tenant_id, context_id, change);

DROP INDEX CONCURRENTLY IF EXISTS context.artifact_change;

CREATE INDEX CONCURRENTLY IF NOT EXISTS artifact_change ON context.artifact (tenant_id, context_id, change);
