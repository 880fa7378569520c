-- counting(schema)
SELECT count(*) AS queued FROM (
    SELECT FROM {{schema}}.outbox WHERE tenant_id = %(tenant_id)s AND topic = %(topic)s LIMIT %(count_max)s
) q;

-- put(schema)
INSERT INTO {{schema}}.outbox (tenant_id, id, topic, subject_id) VALUES (%s, %s, %s, %s)
ON CONFLICT (tenant_id, topic, subject_id) DO UPDATE
    SET id = excluded.id, created_at = now(), due_at = now(), attempts = 0, last_error = '';

-- drop(schema)
DELETE FROM {{schema}}.outbox WHERE tenant_id = %s AND topic = %s AND subject_id = %s;

-- claim(schema)
-- A row that another worker is claiming is passed over.
WITH due AS (
    SELECT id FROM {{schema}}.outbox
    WHERE tenant_id = %(tenant_id)s AND topic = %(topic)s AND due_at <= now()
    ORDER BY due_at LIMIT %(count_max)s
    FOR UPDATE SKIP LOCKED
)
UPDATE {{schema}}.outbox o SET due_at = now() + %(lease)s, attempts = o.attempts + 1
FROM due
WHERE o.tenant_id = %(tenant_id)s AND o.id = due.id
RETURNING o.id, o.subject_id, o.attempts, o.due_at AS leased_until;

-- renew(schema)
-- Work that was postponed, or claimed by another worker, is due at another time than this claim has set.
UPDATE {{schema}}.outbox SET due_at = now() + %(lease)s
WHERE tenant_id = %(tenant_id)s AND id = ANY (%(ids)s) AND due_at = %(leased_until)s
RETURNING due_at AS leased_until;

-- hold(schema)
SELECT id FROM {{schema}}.outbox WHERE tenant_id = %s AND id = %s AND attempts = %s FOR UPDATE;

-- due(schema)
SELECT count(*) AS due FROM {{schema}}.outbox WHERE tenant_id = %s AND topic = %s AND due_at <= now();

-- done(schema)
DELETE FROM {{schema}}.outbox WHERE tenant_id = %s AND id = %s RETURNING id;

-- postpone(schema)
UPDATE {{schema}}.outbox SET due_at = now() + %s, last_error = %s WHERE tenant_id = %s AND id = %s
RETURNING id;
