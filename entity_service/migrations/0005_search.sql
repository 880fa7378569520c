-- Searches read this view: below a policy Postgres uses no index for operators that are not leakproof, such as those of
-- jsonb. The predicate is the policy's. The view is its owner's, whom no policy holds, and no security barrier.
CREATE VIEW entity.node_of_tenant AS
SELECT
    tenant_id, id, created_at, modified_at, seq, version, is_archived, context_id, external_id, graph_name,
    general_type_name, specific_type_name, agent_bundle_id, name, status, created_by, owner_user_id, agent_id, data
FROM entity.node
WHERE tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid);

GRANT SELECT ON entity.node_of_tenant TO :"service_role";

-- The order of lists, from either end.
CREATE INDEX node_created ON entity.node (tenant_id, graph_name, created_at, seq);

-- Few different values: some seven bytes a row. `type` matches either name.
CREATE INDEX node_general_type ON entity.node (tenant_id, graph_name, general_type_name);
CREATE INDEX node_specific_type ON entity.node (tenant_id, graph_name, specific_type_name);
CREATE INDEX edge_type ON entity.edge (tenant_id, graph_name, edge_type);

-- Containment, equality at a path, JSONPath.
CREATE INDEX node_data ON entity.node USING gin (data jsonb_path_ops);
