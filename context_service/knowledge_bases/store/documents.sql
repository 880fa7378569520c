-- open
-- The record `r` that a document `d` follows, if it may be found in the base: no user's and no context's, and with all
-- the walls that the base has.
{{record_filters.active}} AND r.owner_user_id = '' AND r.context_id IS NULL
AND (d.graph_name = '' OR r.graph_name = d.graph_name)
AND (d.agent_bundle_id = '' OR r.agent_bundle_id = d.agent_bundle_id)
AND (d.app_id = '' OR r.app_id = d.app_id)

-- followed
LEFT JOIN context.wm_record r ON r.tenant_id = d.tenant_id AND r.id = d.record_id AND {{open}}

-- is_current
-- Of a document `d`, with `FOLLOWED`: whether the stored text is still that of the document.
(d.record_id IS NULL OR r.version = d.record_version)

-- state
CASE WHEN d.state IN ('QUEUED', 'PARSING') OR d.record_id IS NULL
        OR r.version IS NOT DISTINCT FROM d.record_version
    THEN d.state WHEN r.id IS NULL THEN 'FAILED' ELSE 'QUEUED' END

-- columns
d.document_id, d.seq, d.name, d.uri, d.content_type, d.size_bytes, d.record_id, {{state}} AS state,
CASE WHEN d.record_id IS NOT NULL AND r.id IS NULL AND d.state = 'INDEXED' THEN '{{gone}}' ELSE d.error END AS error,
d.passage_count, d.is_cut, d.created_by, d.created_at, d.updated_at, d.imported::text AS imported_json

-- list
SELECT {{columns}}
FROM context.knowledge_document d {{followed}}
WHERE d.tenant_id = %(tenant_id)s AND d.base_id = %(base_id)s AND d.seq < %(before)s
    AND (%(states)s::text[] = '{}' OR {{state}} = ANY (%(states)s::text[]))
ORDER BY d.seq DESC
LIMIT %(count)s;

-- record
SELECT r.name, r.content_type, ({{open}}) AS is_open
FROM context.wm_record r
    CROSS JOIN (VALUES (%(graph_name)s::text, %(agent_bundle_id)s::text, %(app_id)s::text))
        d (graph_name, agent_bundle_id, app_id)
WHERE r.tenant_id = %(tenant_id)s AND r.id = %(record_id)s;

-- insert
INSERT INTO context.knowledge_document AS d (
    tenant_id, document_id, base_id, record_id, size_bytes, name, uri, content_type, graph_name, agent_bundle_id,
    app_id, created_by
) VALUES (
    %(tenant_id)s, %(document_id)s, %(base_id)s, %(record_id)s, %(size_bytes)s, %(name)s, %(uri)s, %(content_type)s,
    %(graph_name)s, %(agent_bundle_id)s, %(app_id)s, %(by)s
)
RETURNING d.document_id, d.seq, d.name, d.uri, d.content_type, d.size_bytes, d.record_id, d.state, d.error,
    d.passage_count, d.is_cut, d.created_by, d.created_at, d.updated_at, NULL AS imported_json;

-- put_file
INSERT INTO context.knowledge_file (tenant_id, document_id, graph_name, agent_bundle_id, app_id, data)
VALUES (%(tenant_id)s, %(document_id)s, %(graph_name)s, %(agent_bundle_id)s, %(app_id)s, %(data)s);

-- remove
WITH file AS (
    DELETE FROM context.knowledge_file WHERE tenant_id = %(tenant_id)s AND document_id = %(document_id)s
)
DELETE FROM context.knowledge_document
WHERE tenant_id = %(tenant_id)s AND document_id = %(document_id)s AND base_id = %(base_id)s
RETURNING seq, size_bytes;

-- lock
SELECT base_id, seq, record_id, created_at, passage_count, graph_name, agent_bundle_id, app_id
FROM context.knowledge_document WHERE tenant_id = %s AND document_id = %s
FOR NO KEY UPDATE;

-- to_read
SELECT d.base_id, d.name, d.content_type, d.record_id, r.id IS NOT NULL AS is_followed, r.version, f.data
FROM context.knowledge_document d {{followed}}
LEFT JOIN context.knowledge_file f ON f.tenant_id = d.tenant_id AND f.document_id = d.document_id
WHERE d.tenant_id = %s AND d.document_id = %s;

-- say
UPDATE context.knowledge_document SET state = %(state)s, error = %(error)s, updated_at = now()
WHERE tenant_id = %(tenant_id)s AND document_id = %(document_id)s;

-- settle
UPDATE context.knowledge_document
SET state = %(state)s, error = %(error)s, record_version = %(record_version)s, updated_at = now()
WHERE tenant_id = %(tenant_id)s AND document_id = %(document_id)s;

-- keep
UPDATE context.knowledge_document
SET passage_count = 0, text = %(text)s, is_cut = %(is_cut)s, headings = %(headings)s, starts = %(starts)s,
    ends = %(ends)s, pages = %(pages)s, page_starts = %(page_starts)s
WHERE tenant_id = %(tenant_id)s AND document_id = %(document_id)s;

-- passages
UPDATE context.knowledge_document SET passage_count = %s WHERE tenant_id = %s AND document_id = %s;

-- changed
-- Documents that follow records whose content changed since it was read.
SELECT d.document_id FROM context.knowledge_document d {{followed}}
WHERE d.tenant_id = %(tenant_id)s AND d.record_id IS NOT NULL AND d.state IN ('INDEXED', 'FAILED')
    AND r.version IS DISTINCT FROM d.record_version
LIMIT %(count)s;

-- turn
SELECT pg_advisory_xact_lock(hashtextextended('passages of ' || %s::text, 0));
