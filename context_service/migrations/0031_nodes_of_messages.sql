-- The node that a record belongs to stands beside what points at it, behind the walls of the context: whoever reads the context asks for messages
-- about a node, and need not see the record.
ALTER TABLE context.message_record ADD COLUMN entity_node_id uuid;

UPDATE context.message_record r
SET entity_node_id = w.entity_node_id
FROM context.wm_record w
WHERE w.tenant_id = r.tenant_id AND w.id = r.record_id AND w.entity_node_id IS NOT NULL;

CREATE INDEX message_record_about ON context.message_record (tenant_id, context_id, entity_node_id) WHERE entity_node_id IS NOT NULL;
