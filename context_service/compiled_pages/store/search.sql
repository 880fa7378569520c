-- approved
JOIN context.definition d ON d.tenant_id = p.tenant_id AND d.name = p.definition_name AND d.state = 'APPROVED'

-- columns
p.page_id, p.definition_name, p.node_id, p.node_type, p.title, p.aliases, p.trouble, p.is_unbound, p.definition_version,
p.compiled_at, d.version AS approved_version, f.slug, f.heading, f.kind, f.confidence, f.as_of, f.fresh_until,
f.fresh_until < now() AS is_past, f.is_put, f.compile_id, f.put_by

-- shown
-- Each is looked up by itself: of a table without statistics, a join would read the whole scope.
SELECT n.n, e.ordinal, e.text, {{columns}}
FROM json_to_recordset(%(found)s::json) n (n integer, seq bigint, ordinal integer)
    CROSS JOIN LATERAL (
        SELECT e.ordinal, e.text FROM context.passage e
        WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = %(scope_id)s AND e.scope_kind = '{{brain}}' AND e.seq = n.seq
            AND e.ordinal = n.ordinal
        LIMIT 1
    ) e
    CROSS JOIN LATERAL (
        SELECT f.* FROM context.facet f WHERE f.tenant_id = %(tenant_id)s AND f.seq = n.seq LIMIT 1
    ) f
    JOIN context.compiled_page p ON p.tenant_id = f.tenant_id AND p.page_id = f.page_id
    {{approved}}
WHERE {{pages.declassified}}
ORDER BY n.n;

-- count
SELECT count(*) AS pages FROM context.compiled_page p {{approved}} WHERE p.tenant_id = %(tenant_id)s;

-- whole
SELECT f.text, f.is_cut, {{columns}}
FROM context.facet f
    JOIN context.compiled_page p ON p.tenant_id = f.tenant_id AND p.page_id = f.page_id
    {{approved}}
WHERE f.tenant_id = %(tenant_id)s AND f.page_id = %(page_id)s AND f.slug = %(slug)s AND f.is_put = %(is_put)s
    AND {{pages.declassified}};
