-- imported
-- For an entry that an import wrote: the import, and the author that its archive names.
CASE WHEN imported IS NULL THEN '{}'::jsonb ELSE jsonb_build_object('imported', imported) END

-- list_actions
SELECT seq, created_at, request_id, kind, principal, (details || {{imported}})::text AS details_json
FROM context.action
WHERE tenant_id = %s AND record_id = %s AND seq > %s
ORDER BY seq
LIMIT %s;

-- of_entity_of(direction, after)
-- The log of an entity's records, also of purged ones; with a few fields of records that still exist.
SELECT a.created_at_us, a.seq, a.record_id, a.request_id, a.kind, a.principal,
    (coalesce(r.said, '{}') || a.details)::text AS document_json
FROM (
    SELECT (extract(epoch FROM created_at) * 1000000)::bigint AS created_at_us, seq, record_id, request_id, kind,
        principal, details || {{imported}} AS details
    FROM context.action
    WHERE tenant_id = %(tenant_id)s AND entity_node_id = %(entity_node_id)s
        AND (created_at, seq) {{after}} (%(behind_at)s::timestamptz, %(behind_seq)s::bigint)
    ORDER BY created_at {{direction}}, seq {{direction}}
    LIMIT %(count_max)s
) a
LEFT JOIN LATERAL (
    SELECT jsonb_build_object(
        'name', name, 'memory_type', memory_type, 'content_type', content_type, 'size_bytes', size_bytes
    ) AS said
    FROM context.wm_record
    WHERE tenant_id = %(tenant_id)s AND id = a.record_id
    OFFSET 0
) r ON true
ORDER BY a.created_at_us {{direction}}, a.seq {{direction}}

-- of_entity
{{of_entity_of(ASC, >)}};

-- of_entity_descending
-- The same page from the other end.
{{of_entity_of(DESC, <)}};

-- last_kind
SELECT kind FROM context.action WHERE tenant_id = %s AND record_id = %s ORDER BY seq DESC LIMIT 1;
