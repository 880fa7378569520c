-- no transaction
-- Find what was taken back of a context, while others are written. Messages that stand are not in it.

DROP INDEX CONCURRENTLY IF EXISTS context.message_retracted;

CREATE INDEX CONCURRENTLY IF NOT EXISTS message_retracted ON context.message (tenant_id, context_id, retracted_change)
WHERE retracted_change IS NOT NULL;
