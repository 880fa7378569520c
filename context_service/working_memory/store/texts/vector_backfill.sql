-- lacking
-- An embedding from the caller has no `text_sha256`. Queued records have a row in the outbox.
r.tenant_id = %(tenant_id)s
AND NOT EXISTS (
    SELECT FROM context.embedding e
    WHERE e.tenant_id = %(tenant_id)s AND e.owner_kind = 'record' AND e.owner_id = r.id AND e.name = ''
        AND (e.text_sha256 IS NULL OR e.model = %(model)s)
)
AND NOT EXISTS (
    SELECT FROM context.outbox o
    WHERE o.tenant_id = %(tenant_id)s AND o.topic = %(topic)s AND o.subject_id = r.id
)

-- count
SELECT count(*) AS records FROM context.wm_record r WHERE {{lacking}};

-- lock
SELECT r.id FROM context.wm_record r
WHERE {{lacking}} AND r.id > %(after)s
ORDER BY r.id LIMIT %(count_max)s
FOR NO KEY UPDATE OF r;

-- owe
-- A statement of its own: it sees what others did to the records before they were locked.
WITH owed AS (
    INSERT INTO context.outbox (tenant_id, id, topic, subject_id)
    SELECT r.tenant_id, gen_random_uuid(), %(topic)s, r.id FROM context.wm_record r
    WHERE {{lacking}} AND r.id = ANY (%(ids)s)
    RETURNING subject_id
)
UPDATE context.wm_record r SET index_state = 'PENDING', index_error = ''
FROM owed WHERE r.tenant_id = %(tenant_id)s AND r.id = owed.subject_id
RETURNING r.id;
