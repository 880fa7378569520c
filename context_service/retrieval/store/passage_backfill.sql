-- lacking
-- Queued scopes are left out.
SELECT s.scope_id, l.passages, l.owed
FROM (
    SELECT DISTINCT scope_id FROM context.passage_scope
    WHERE tenant_id = %(tenant_id)s AND scope_kind = %(scope_kind)s AND scope_id > %(after)s
    ORDER BY scope_id
    LIMIT %(count_max)s
) s
LEFT JOIN context.outbox o
    ON o.tenant_id = %(tenant_id)s AND o.topic = %(topic)s AND o.subject_id = s.scope_id
CROSS JOIN LATERAL (
    SELECT count(*) AS passages, ({{vector_outbox.of_passages}})::text AS owed
    FROM context.passage p
    WHERE p.tenant_id = %(tenant_id)s AND p.scope_id = s.scope_id AND p.scope_kind = %(scope_kind)s
        AND NOT ({{vector_outbox.is_owed}})
        AND NOT EXISTS (
            SELECT FROM context.passage_vector v
            WHERE v.tenant_id = %(tenant_id)s AND v.scope_id = s.scope_id AND v.scope_kind = %(scope_kind)s
                AND v.seq = p.seq AND v.ordinal = p.ordinal AND v.model = %(model)s
        )
) l
ORDER BY s.scope_id;

-- owe
-- Unless it was deleted since.
INSERT INTO context.outbox AS o (tenant_id, id, topic, subject_id, payload)
SELECT %(tenant_id)s, gen_random_uuid(), %(topic)s, %(scope_id)s, %(owed)s::jsonb
WHERE EXISTS (
    SELECT FROM context.passage_scope
    WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND scope_kind = %(scope_kind)s
)
ON CONFLICT (tenant_id, topic, subject_id) DO UPDATE SET id = excluded.id, payload = {{vector_outbox.together}};
