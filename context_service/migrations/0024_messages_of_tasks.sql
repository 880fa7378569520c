-- no transaction
-- Find the messages of a task, while others are written. Messages of none are not in it.

DROP INDEX CONCURRENTLY IF EXISTS context.message_task;

CREATE INDEX CONCURRENTLY IF NOT EXISTS message_task ON context.message (tenant_id, context_id, task_id, seq) WHERE task_id IS NOT NULL;
