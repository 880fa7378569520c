-- shown
-- Each passage is looked up alone: without statistics of the table, a join would read the whole scope.
SELECT f.n, f.ordinal, r.id, r.name, r.entity_node_id, r.memory_type, r.content_type, r.owner_user_id, r.updated_at,
    p.text
FROM json_to_recordset(%(found)s::json) f (n integer, node_id uuid, seq bigint, ordinal integer)
    CROSS JOIN LATERAL (
        SELECT p.text, p.source_id FROM context.passage p
        WHERE p.tenant_id = %(tenant_id)s AND p.scope_id = f.node_id AND p.scope_kind = '{{node}}' AND p.seq = f.seq
            AND p.ordinal = f.ordinal
        LIMIT 1
    ) p
    CROSS JOIN LATERAL (
        SELECT r.* FROM context.wm_record r
        WHERE r.tenant_id = %(tenant_id)s AND r.id = p.source_id AND {{record_filters.active}}
        LIMIT 1
    ) r
ORDER BY f.n;

-- best_passages
SELECT f.n, coalesce(p.ordinal, -1) AS ordinal, r.id, r.name, r.entity_node_id, r.memory_type, r.content_type,
    r.owner_user_id, r.updated_at,
    coalesce(p.text, nullif(left(coalesce(r.content_text, r.blob_text), {{text_chars_max}}), ''),
        left(r.content::text, {{text_chars_max}}), nullif(r.description, ''), r.name) AS text
FROM json_to_recordset(%(found)s::json) f (n integer, id uuid, terms integer[])
    CROSS JOIN LATERAL (
        SELECT r.* FROM context.wm_record r
        WHERE r.tenant_id = %(tenant_id)s AND r.id = f.id AND {{record_filters.active}}
        LIMIT 1
    ) r
    LEFT JOIN LATERAL (
        SELECT p.ordinal, p.text
        FROM (
            SELECT p.ordinal, p.text, p.terms FROM context.passage p
            WHERE p.tenant_id = %(tenant_id)s AND p.scope_id = r.entity_node_id AND p.scope_kind = '{{node}}'
                AND p.seq = r.seq
            ORDER BY p.ordinal
            LIMIT {{looked_at_max}}
        ) p
        ORDER BY (SELECT count(*) FROM unnest(f.terms) t WHERE t = ANY (p.terms)) DESC, p.ordinal
        LIMIT 1
    ) p ON true
ORDER BY f.n;

-- whole
-- What a long file says is in its passages, which tile it; its column has only the beginning.
SELECT r.name, r.entity_node_id, r.owner_user_id, r.updated_at, t.text, length(t.text) > %(chars_max)s AS is_cut
FROM context.wm_record r
    CROSS JOIN LATERAL (
        SELECT left(coalesce(
            r.content_text,
            r.content::text,
            CASE WHEN length(r.blob_text) < {{text_chars_max}} THEN r.blob_text END,
            (
                SELECT string_agg(p.text, '' ORDER BY p.ordinal)
                FROM (
                    SELECT p.ordinal, p.text FROM context.passage p
                    WHERE p.tenant_id = %(tenant_id)s AND p.scope_id = r.entity_node_id AND p.scope_kind = '{{node}}'
                        AND p.seq = r.seq
                    ORDER BY p.ordinal
                    LIMIT {{whole_passages_max}}
                ) p
            ),
            nullif(r.blob_text, ''), nullif(r.description, ''), r.name
        ), %(chars_max)s + 1) AS text
    ) t
WHERE r.tenant_id = %(tenant_id)s AND r.id = %(id)s AND {{record_filters.active}};

-- count
SELECT count(*) AS files
FROM (
    SELECT FROM context.wm_record r
    WHERE r.tenant_id = %(tenant_id)s AND {{record_filters.active}}
    LIMIT {{files_counted}} + 1
) one;

-- count_of_nodes
SELECT count(*) AS files
FROM (
    SELECT FROM unnest(%(node_ids)s::uuid[]) n (id)
    CROSS JOIN LATERAL (
        SELECT FROM context.wm_record r
        WHERE r.tenant_id = %(tenant_id)s AND r.entity_node_id = n.id AND {{record_filters.active}}
        OFFSET 0
    ) r
    LIMIT {{files_counted}} + 1
) one;
