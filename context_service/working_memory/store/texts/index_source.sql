-- nodes_count
SELECT count(DISTINCT entity_node_id) FROM context.wm_record
WHERE tenant_id = %(tenant_id)s AND passage_count > 0;

-- nodes_page
SELECT DISTINCT entity_node_id, '' AS user_id FROM context.wm_record
WHERE tenant_id = %(tenant_id)s AND entity_node_id > %(after)s AND passage_count > 0
    AND (%(only)s::uuid IS NULL OR entity_node_id = %(only)s)
ORDER BY entity_node_id
LIMIT %(count)s;

-- nodes_owned
SELECT DISTINCT entity_node_id FROM context.wm_record
WHERE tenant_id = %(tenant_id)s AND entity_node_id = ANY (%(ids)s) AND passage_count > 0;

-- rows
SELECT r.id, r.seq, r.created_at, r.graph_name, r.agent_bundle_id, r.app_id, p.ordinal, p.text
FROM (
    SELECT * FROM context.wm_record
    WHERE tenant_id = %(tenant_id)s AND entity_node_id = %(scope_id)s AND seq > %(after)s AND passage_count > 0
    ORDER BY seq
    LIMIT %(count)s
) r
LEFT JOIN context.passage p
    ON p.tenant_id = r.tenant_id AND p.scope_id = r.entity_node_id AND p.scope_kind = %(scope_kind)s AND p.seq = r.seq
        AND p.source_id = r.id AND p.ordinal < r.passage_count
ORDER BY r.seq, p.ordinal;
