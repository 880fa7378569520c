-- find
SELECT found.id FROM (
    SELECT m.record_id AS id FROM context.message_record m
    WHERE m.tenant_id = %(tenant_id)s AND m.context_id = %(context_id)s AND m.record_id > %(after)s
    UNION
    SELECT r.id FROM context.wm_record r
    WHERE r.tenant_id = %(tenant_id)s AND r.context_id = %(context_id)s AND r.id > %(after)s
) found
ORDER BY found.id
LIMIT %(count)s;

-- lock
SELECT r.id
FROM context.wm_record r JOIN context.erasure e ON e.tenant_id = r.tenant_id AND e.context_id = %(context_id)s
WHERE r.tenant_id = %(tenant_id)s AND r.id = ANY (%(ids)s::uuid[]) AND r.owner_user_id = e.owner_user_id
    AND (r.context_id = e.context_id OR (r.context_id IS NULL AND r.entity_node_id IS NULL))
ORDER BY r.id
FOR UPDATE OF r;

-- unreferred
-- After that lock: a message that names the record meanwhile is committed, or waits and then finds no record. A context
-- that is deleted itself refers to nothing; one without a header is being imported.
SELECT one.id
FROM unnest(%(ids)s::uuid[]) one (id)
WHERE NOT EXISTS (
    SELECT FROM context.message_record m
        LEFT JOIN context.context c ON c.tenant_id = m.tenant_id AND c.context_id = m.context_id
    WHERE m.tenant_id = %(tenant_id)s AND m.record_id = one.id AND m.context_id <> %(context_id)s
        AND c.deleted_at IS NULL
) AND NOT EXISTS (
    SELECT FROM context.knowledge_document d WHERE d.tenant_id = %(tenant_id)s AND d.record_id = one.id
) AND NOT EXISTS (
    SELECT FROM context.subject_erasure s JOIN context.wm_record r ON r.tenant_id = s.tenant_id AND r.id = one.id
    WHERE s.tenant_id = %(tenant_id)s AND s.finished_at IS NULL AND s.subject = r.owner_user_id
);

-- forget
-- The context is gone, so no reader needs to know that the record is gone, too.
DELETE FROM context.message_record
WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND record_id = ANY (%(ids)s::uuid[]);
