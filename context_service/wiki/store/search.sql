-- columns
p.page_id, p.slug, v.title, v.aliases, v.version, v.headings[e.part + 1] AS heading, e.ordinal, e.text, v.created_at, p.as_of,
p.fresh_until, p.fresh_until < now() AS is_past, f.gone, f.changed, f.superseded

-- shown
-- Each is looked up by itself: of a table without statistics, a join would read the whole scope.
SELECT n.n, {{columns}}
FROM json_to_recordset(%(found)s::json) n (n integer, seq bigint, ordinal integer)
    CROSS JOIN LATERAL (
        SELECT e.seq, e.ordinal, e.part, e.text, e.source_id FROM context.passage e
        WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = %(scope_id)s AND e.scope_kind = '{{wiki}}' AND e.seq = n.seq
            AND e.ordinal = n.ordinal
        LIMIT 1
    ) e
    CROSS JOIN LATERAL (
        SELECT p.* FROM context.wiki_page p
        WHERE p.tenant_id = %(tenant_id)s AND p.page_id = e.source_id AND p.owner_user_id = %(user_id)s
        LIMIT 1
    ) p
    JOIN context.wiki_page_version v ON v.tenant_id = p.tenant_id AND v.page_id = p.page_id AND v.version = p.version
        AND v.seq = e.seq
    {{pages.cited}}
ORDER BY n.n;

-- citing
-- Of the pages that cite memories, those that cite most of them first.
SELECT v.seq, array_agg(c.memory_id ORDER BY c.memory_id) AS memory_ids
FROM context.wiki_citation c
    JOIN context.wiki_page p ON p.tenant_id = c.tenant_id AND p.page_id = c.page_id
    JOIN context.wiki_page_version v ON v.tenant_id = p.tenant_id AND v.page_id = p.page_id AND v.version = p.version
WHERE c.tenant_id = %(tenant_id)s AND c.memory_id = ANY (%(memory_ids)s::uuid[]) AND p.owner_user_id = %(user_id)s
GROUP BY v.seq
ORDER BY count(*) DESC, v.seq DESC
LIMIT %(count)s;
