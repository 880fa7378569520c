-- text_columns
r.id, r.name, r.description, r.content::text AS content_json,
    left(CASE WHEN r.content IS NULL THEN coalesce(r.content_text, r.blob_text) END, {{text_chars_max}}) AS text

-- texts
SELECT {{text_columns}}
FROM context.wm_record r
WHERE r.tenant_id = %(tenant_id)s AND r.id = ANY (%(ids)s::uuid[])
ORDER BY r.id
FOR NO KEY UPDATE;

-- put
UPDATE context.wm_record r SET terms = f.terms, terms_version = %(version)s
FROM json_to_recordset(%(found)s::json) f (id uuid, terms integer[])
WHERE r.tenant_id = %(tenant_id)s AND r.id = f.id;

-- page
-- Files of contexts are not searched as records.
SELECT {{text_columns}}, r.terms, r.terms_version
FROM context.wm_record r
WHERE r.tenant_id = %(tenant_id)s AND r.context_id IS NULL AND r.id > %(after)s
ORDER BY r.id
LIMIT %(count)s;
