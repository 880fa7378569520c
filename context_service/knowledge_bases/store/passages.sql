-- bases_count
SELECT count(*) FROM context.knowledge_base WHERE tenant_id = %(tenant_id)s;

-- bases_page
SELECT base_id, '' AS user_id FROM context.knowledge_base
WHERE tenant_id = %(tenant_id)s AND base_id > %(after)s
    AND (%(only)s::uuid IS NULL OR base_id = %(only)s)
ORDER BY base_id
LIMIT %(count)s;

-- bases_owned
SELECT base_id FROM context.knowledge_base WHERE tenant_id = %(tenant_id)s AND base_id = ANY (%(ids)s)
UNION
SELECT subject_id FROM context.outbox
WHERE tenant_id = %(tenant_id)s AND topic = '{{drop_topic}}' AND subject_id = ANY (%(ids)s);

-- rows
-- A base without documents gives a row without any; one that is gone gives none.
SELECT d.*
FROM (SELECT base_id FROM context.knowledge_base WHERE tenant_id = %(tenant_id)s AND base_id = %(scope_id)s) b
LEFT JOIN LATERAL (
    SELECT document_id, seq, created_at, name, content_type, text, page_starts, passage_count, graph_name,
        agent_bundle_id, app_id
    FROM context.knowledge_document
    WHERE tenant_id = %(tenant_id)s AND base_id = b.base_id AND seq > %(after)s AND passage_count > 0
    ORDER BY seq
    LIMIT %(count)s
) d ON true
ORDER BY seq;
