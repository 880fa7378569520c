-- start
INSERT INTO context.blob (tenant_id, id, provider, key, due_at) VALUES (%s, %s, %s, %s, now() + %s);

-- renew
UPDATE context.blob SET due_at = now() + %s WHERE tenant_id = %s AND id = %s AND state = 'writing' RETURNING id;

-- hold_same_content
-- The lock keeps a sweeper from taking the blob until the record that needs it is committed. One that `storage fsck`
-- has found damaged is not used: this upload stores the bytes again.
SELECT id FROM context.blob
WHERE tenant_id = %(tenant_id)s AND provider = %(provider)s AND sha256 = %(sha256)s AND size_bytes = %(size_bytes)s
    AND state = 'live' AND damaged_at IS NULL
FOR KEY SHARE;

-- publish
-- A blob that a sweeper has taken is not `writing` any more: then nothing becomes live.
UPDATE context.blob SET state = 'live', due_at = NULL, size_bytes = %(size_bytes)s, sha256 = %(sha256)s,
    crc32c = %(crc32c)s
WHERE tenant_id = %(tenant_id)s AND id = %(id)s AND state = 'writing'
RETURNING id;

-- give_up
UPDATE context.blob SET state = 'deleting', due_at = now()
WHERE tenant_id = %s AND id = %s AND state = 'writing'
RETURNING id;

-- is_used
SELECT id FROM context.blob WHERE tenant_id = %s AND id = %s AND state IN ('part', 'live');

-- lock
-- FOR UPDATE, because it is what FOR KEY SHARE waits for; the references are counted by the next statement, which sees
-- references that were committed while this one waited.
SELECT id FROM context.blob WHERE tenant_id = %s AND id = ANY (%s) AND state = 'live' ORDER BY id FOR UPDATE;

-- owner_hash(owner)
sha256(convert_to(%(tenant_id)s::uuid::text || {{owner}}, 'UTF8'))

-- release
UPDATE context.blob b SET state = 'deleting', due_at = now() + %(grace)s, owners_sha256 = ARRAY(
    SELECT DISTINCT {{owner_hash(last.owner)}}
    FROM unnest(%(ids)s::uuid[], %(owners)s::text[]) last (id, owner)
    WHERE last.id = b.id AND last.owner <> ''
)
WHERE b.tenant_id = %(tenant_id)s AND b.id = ANY (%(ids)s) AND b.state = 'live'
    AND NOT context.has_records(b.id)
RETURNING b.id;

-- claim_due
-- Rows that another sweeper, or an upload that is just being committed, has locked are left to it.
WITH due AS (
    SELECT b.id, b.state FROM context.blob b
    WHERE b.tenant_id = %(tenant_id)s AND b.state <> 'live' AND b.due_at <= now()
    ORDER BY b.due_at LIMIT %(count_max)s
    FOR UPDATE SKIP LOCKED
)
UPDATE context.blob b SET state = 'deleting', due_at = now() + %(lease)s
FROM due
WHERE b.tenant_id = %(tenant_id)s AND b.id = due.id
RETURNING b.id, b.provider, b.key, due.state = 'writing' AS was_abandoned;

-- forget
DELETE FROM context.blob WHERE tenant_id = %s AND id = ANY (%s) AND state = 'deleting';
