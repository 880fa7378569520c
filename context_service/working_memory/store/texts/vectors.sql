-- read_texts
SELECT id, name, description, content::text AS content_json,
    CASE WHEN content IS NULL THEN content_text END AS content_text
FROM context.wm_record
WHERE tenant_id = %s AND id = ANY (%s);

-- lock_record
SELECT id FROM context.wm_record WHERE tenant_id = %s AND id = %s FOR NO KEY UPDATE;

-- put_vector
WITH indexed AS (
    UPDATE context.wm_record SET index_state = 'INDEXED', index_error = ''
    WHERE tenant_id = %(tenant_id)s AND id = %(id)s
    RETURNING entity_node_id, archived_at, expires_at, memory_type, graph_name, agent_bundle_id, app_id
)
INSERT INTO context.embedding (
    tenant_id, owner_kind, owner_id, dimension, model, text_sha256, vector, entity_node_id, hidden_at, memory_type,
    graph_name, agent_bundle_id, app_id
)
SELECT %(tenant_id)s, 'record', %(id)s, %(dimension)s, %(model)s, %(text_sha256)s, %(vector)s, entity_node_id,
    least(archived_at, expires_at), memory_type, graph_name, agent_bundle_id, app_id
FROM indexed
ON CONFLICT (tenant_id, owner_kind, owner_id, name) DO UPDATE
    SET dimension = excluded.dimension, model = excluded.model, vector = excluded.vector,
        text_sha256 = excluded.text_sha256, created_at = now();

-- tell_failure
UPDATE context.wm_record
SET index_error = %(error)s, index_state = CASE WHEN %(failed)s THEN 'FAILED' ELSE index_state END
WHERE tenant_id = %(tenant_id)s AND id = %(id)s;
