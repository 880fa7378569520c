-- What a caller asks of nodes may run on those that it may see, and on no others: an expression can raise an error, or take
-- its time, over what it is not told of. Conditions of a view are asked in whatever order is cheap, so searches put the
-- caller's behind `CASE WHEN is_visible`, which is asked first.
CREATE OR REPLACE VIEW entity.node_of_tenant AS
SELECT
    tenant_id, id, created_at, modified_at, seq, version, is_archived, context_id, external_id, graph_name,
    general_type_name, specific_type_name, agent_bundle_id, name, status, created_by, owner_user_id, agent_id, data,
    is_visible
FROM (
    SELECT
        tenant_id, id, created_at, modified_at, seq, version, is_archived, context_id, external_id, graph_name,
        general_type_name, specific_type_name, agent_bundle_id, name, status, created_by, owner_user_id, agent_id, data,
        tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid)
            AND nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
                OR entity.in_bounds(graph_name, agent_bundle_id), false) IS NOT NULL AS is_visible
    FROM entity.node
) n
WHERE is_visible;
