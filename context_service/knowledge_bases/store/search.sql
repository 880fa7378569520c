-- which
b.tenant_id = %(tenant_id)s AND (b.is_of_tenant OR b.name = ANY (%(names)s::text[]))

-- asked
SELECT b.base_id, b.name, b.document_count, u.waiting, u.failed
FROM context.knowledge_base b
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE d.state <> 'FAILED') AS waiting,
            count(*) FILTER (WHERE d.state = 'FAILED') AS failed
        FROM context.knowledge_document d
        WHERE d.tenant_id = b.tenant_id AND d.base_id = b.base_id AND d.state <> 'INDEXED'
    ) u
WHERE {{which}} AND b.bedrock_id = ''
ORDER BY b.name COLLATE "C";

-- asked_bedrock
SELECT b.base_id, b.name, b.bedrock_id, b.bedrock_region FROM context.knowledge_base b
WHERE {{which}} AND b.bedrock_id <> ''
ORDER BY b.name COLLATE "C";

-- shown
-- Each is looked up by itself: of a table without statistics, a join would read the whole scope.
SELECT n.n, d.document_id, d.name, d.uri, d.record_id, d.created_at, b.name AS base, e.ordinal, e.text,
    d.headings[e.part + 1] AS heading, d.pages[e.ordinal + 1] AS page, d.starts[e.ordinal + 1] AS start,
    d.ends[e.ordinal + 1] AS "end"
FROM json_to_recordset(%(found)s::json) n (n integer, scope_id uuid, seq bigint, ordinal integer)
    CROSS JOIN LATERAL (
        SELECT e.ordinal, e.part, e.text, e.source_id FROM context.passage e
        WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = n.scope_id AND e.scope_kind = '{{knowledge_base}}'
            AND e.seq = n.seq AND e.ordinal = n.ordinal
        LIMIT 1
    ) e
    CROSS JOIN LATERAL (
        SELECT d.* FROM context.knowledge_document d
        WHERE d.tenant_id = %(tenant_id)s AND d.document_id = e.source_id AND d.base_id = n.scope_id
            AND d.state = 'INDEXED'
        LIMIT 1
    ) d
    {{documents.followed}}
    JOIN context.knowledge_base b ON b.base_id = n.scope_id AND {{which}}
WHERE {{documents.is_current}}
ORDER BY n.n;

-- whole
SELECT d.document_id, d.name, d.created_at, d.is_cut, left(d.text, %(chars)s) AS text, length(d.text) AS chars
FROM context.knowledge_document d
    {{documents.followed}}
    JOIN context.knowledge_base b ON b.base_id = d.base_id AND {{which}}
WHERE d.tenant_id = %(tenant_id)s AND d.document_id = %(document_id)s AND d.state = 'INDEXED' AND {{documents.is_current}};
