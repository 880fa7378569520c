-- claimed
-- The place that a claimed row of the queue has reached, its context, and how long that must still be idle.
SELECT (o.payload ->> 'seq')::bigint AS reached_seq, c.context_id, c.owner_user_id, c.app_id, c.agent_bundle_id,
    c.last_seq,
    CASE
        WHEN c.closed_at IS NULL THEN extract(epoch FROM c.updated_at + %(idle)s - now())
        ELSE extract(epoch FROM c.closed_at - now())
    END::float8 AS idle_in_s
FROM context.outbox o
    JOIN context.context c ON c.tenant_id = o.tenant_id AND c.context_id = o.subject_id
WHERE o.tenant_id = %(tenant_id)s AND o.id = %(id)s AND c.deleted_at IS NULL;

-- first_speaker
SELECT m.name FROM context.message m
WHERE m.tenant_id = %(tenant_id)s AND m.context_id = %(context_id)s AND m.role = 'user' AND m.retracted_at IS NULL
    AND NOT m.is_imported
ORDER BY m.seq
LIMIT 1;

-- standing
SELECT m.seq FROM context.message m
WHERE m.tenant_id = %(tenant_id)s AND m.context_id = %(context_id)s AND m.seq = ANY (%(seqs)s::bigint[])
    AND m.retracted_at IS NULL;

-- advance
UPDATE context.outbox SET payload = jsonb_build_object('seq', %(reached_seq)s::bigint), due_at = now(), attempts = 0
WHERE tenant_id = %(tenant_id)s AND id = %(id)s;

-- stale
-- Learned memories with a source in a context that is gone, or in a message of it that is retracted; and these sources.
SELECT m.memory_id, m.owner_user_id, array_agg(s.source ->> 'ref') AS refs
FROM context.memory m
    CROSS JOIN LATERAL jsonb_array_elements(m.sources) s (source)
WHERE m.tenant_id = %(tenant_id)s AND m.is_learned
    AND m.sources @> jsonb_build_array(jsonb_build_object('context_id', %(context_id)s::text))
    AND s.source ->> 'context_id' = %(context_id)s::text
    AND NOT EXISTS (
        SELECT FROM context.context c
            JOIN context.message e ON e.tenant_id = c.tenant_id AND e.context_id = c.context_id
        WHERE c.tenant_id = m.tenant_id AND c.context_id = %(context_id)s::text::uuid AND c.deleted_at IS NULL
            AND e.retracted_at IS NULL
            AND e.seq = CASE
                WHEN s.source ->> 'ref' ~ '^m[0-9]{1,18}$' THEN substr(s.source ->> 'ref', 2)::bigint
            END
    )
GROUP BY m.memory_id, m.owner_user_id
LIMIT %(count)s;

-- taught_by
SELECT m.memory_id FROM context.memory m
WHERE m.tenant_id = %(tenant_id)s AND m.is_learned AND m.owner_user_id = %(owner_user_id)s
    AND m.sources @> jsonb_build_array(
        jsonb_build_object('context_id', %(context_id)s::text, 'ref', %(ref)s::text)
    );
