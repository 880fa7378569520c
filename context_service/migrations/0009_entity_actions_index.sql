-- no transaction
-- Entries from before, of records that are still there, while others are written; then the index that finds them.

UPDATE context.action a
SET entity_node_id = r.entity_node_id
FROM context.wm_record r
WHERE r.tenant_id = a.tenant_id AND r.id = a.record_id AND r.entity_node_id IS NOT NULL AND a.entity_node_id IS NULL;

DROP INDEX CONCURRENTLY IF EXISTS context.action_entity;

CREATE INDEX CONCURRENTLY IF NOT EXISTS action_entity ON context.action (tenant_id, entity_node_id, created_at, seq)
    WHERE entity_node_id IS NOT NULL;
