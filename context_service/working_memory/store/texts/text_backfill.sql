-- unread
-- Records that were read have a number of passages; others have an error, or are queued.
r.tenant_id = %(tenant_id)s AND r.passage_count IS NULL AND r.text_state IN ('NONE', 'INDEXED')

-- page
SELECT r.id, r.name, r.content_type, r.memory_type, r.size_bytes, r.blob_id IS NULL AS is_inline
FROM context.wm_record r
WHERE {{unread}} AND r.id > %(after)s AND (r.blob_id IS NOT NULL OR r.size_bytes > 0)
ORDER BY r.id
LIMIT %(count_max)s;

-- lock
SELECT r.id FROM context.wm_record r WHERE {{unread}} AND r.id = ANY (%(ids)s) ORDER BY r.id FOR NO KEY UPDATE;

-- owe
WITH owed AS (
    INSERT INTO context.outbox (tenant_id, id, topic, subject_id)
    SELECT %(tenant_id)s, gen_random_uuid(), %(topic)s, one FROM unnest(%(ids)s::uuid[]) one
    ON CONFLICT (tenant_id, topic, subject_id) DO NOTHING
)
UPDATE context.wm_record SET text_state = 'PENDING', text_error = ''
WHERE tenant_id = %(tenant_id)s AND id = ANY (%(ids)s);
