-- owed_from
SELECT subject_id AS context_id, {{vector_outbox.first}} AS seq
FROM context.outbox o
WHERE tenant_id = %(tenant_id)s AND topic = %(topic)s AND subject_id = ANY (%(context_ids)s);

-- state
-- Passages without a vector are counted only in contexts with queued work: elsewhere none is pending.
SELECT c.passages, v.made - v.failed AS indexed, v.failed, coalesce(l.pending, 0) AS pending,
    least(m.created_at, a.created_at) AS oldest, coalesce(o.last_error, '') AS error
FROM (
    SELECT coalesce(sum(passages), 0)::bigint AS passages
    FROM context.passage_scope
    WHERE tenant_id = %(tenant_id)s AND scope_id = %(context_id)s AND scope_kind = %(scope_kind)s
) c
CROSS JOIN (
    SELECT count(*) AS made, (
        SELECT count(*) FROM context.passage_vector
        WHERE tenant_id = %(tenant_id)s AND scope_id = %(context_id)s AND scope_kind = %(scope_kind)s
            AND model = %(model)s AND error <> ''
    ) AS failed
    FROM context.passage_vector
    WHERE tenant_id = %(tenant_id)s AND scope_id = %(context_id)s AND scope_kind = %(scope_kind)s
        AND model = %(model)s
) v
LEFT JOIN context.outbox o ON o.tenant_id = %(tenant_id)s AND o.topic = %(topic)s AND o.subject_id = %(context_id)s
LEFT JOIN LATERAL (
    SELECT count(*) AS pending, min(p.seq) FILTER (WHERE p.seq > 0) AS seq,
        max(p.seq) FILTER (WHERE p.seq < 0) AS place
    FROM {{vector_outbox.places}}
        JOIN context.passage p ON p.tenant_id = %(tenant_id)s AND p.scope_id = %(context_id)s
            AND p.scope_kind = %(scope_kind)s AND p.seq BETWEEN owed.low AND least(owed.high, %(seq_to)s)
    WHERE NOT EXISTS (
            SELECT FROM context.passage_vector v
            WHERE v.tenant_id = %(tenant_id)s AND v.scope_id = %(context_id)s AND v.scope_kind = %(scope_kind)s
                AND v.seq = p.seq AND v.ordinal = p.ordinal AND v.model = %(model)s
        )
) l ON o.id IS NOT NULL
LEFT JOIN context.message m
    ON m.tenant_id = %(tenant_id)s AND m.context_id = %(context_id)s AND m.seq = l.seq
LEFT JOIN context.artifact a
    ON a.tenant_id = %(tenant_id)s AND a.context_id = %(context_id)s AND a.place = l.place;
