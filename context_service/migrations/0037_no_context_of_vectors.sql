-- The vectors of records are no context's: nothing wrote this column or read it, of any version.

DROP VIEW context.embedding_of_tenant;
ALTER TABLE context.embedding DROP COLUMN context_id;
CREATE VIEW context.embedding_of_tenant AS
SELECT tenant_id, owner_kind, owner_id, name, created_at, dimension, model, text_sha256, vector, entity_node_id, hidden_at,
    memory_type, graph_name, agent_bundle_id, app_id
FROM context.embedding
WHERE tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid)
    AND nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.in_bounds(graph_name, agent_bundle_id, app_id), false) IS NOT NULL;
GRANT SELECT ON context.embedding_of_tenant TO :"service_role";
