-- list_blobs
-- `part` is a piece of an unfinished upload; the other two states promise nothing.
SELECT b.id, b.provider, b.key, b.state, b.size_bytes, b.sha256, b.crc32c, b.damaged_at IS NOT NULL AS damaged
FROM context.blob b
WHERE b.tenant_id = %(tenant_id)s AND b.id > %(after)s AND b.state IN ('live', 'part')
    AND (b.state = 'live' OR %(with_parts)s) AND (%(provider)s = '' OR b.provider = %(provider)s)
ORDER BY b.id
LIMIT %(count_max)s;

-- count_blobs
SELECT count(*) AS blobs, coalesce(sum(size_bytes), 0)::bigint AS size_bytes
FROM context.blob
WHERE tenant_id = %(tenant_id)s AND state IN ('live', 'part') AND (state = 'live' OR %(with_parts)s)
    AND (%(provider)s = '' OR provider = %(provider)s);

-- known_keys
SELECT key FROM context.blob WHERE tenant_id = %s AND provider = %s AND key = ANY (%s);

-- records_of_blob
SELECT id FROM context.wm_record WHERE tenant_id = %s AND blob_id = %s ORDER BY id LIMIT %s;

-- is_needed
SELECT id FROM context.blob WHERE tenant_id = %s AND id = %s AND state IN ('live', 'part');

-- same_content
-- Blobs that are sound or not yet checked, on any provider, including those that wait to be removed.
SELECT id, provider, key, state, size_bytes, sha256, crc32c, false AS damaged
FROM context.blob
WHERE tenant_id = %(tenant_id)s AND sha256 = %(sha256)s AND size_bytes = %(size_bytes)s AND id <> %(id)s
    AND damaged_at IS NULL AND crc32c IS NOT NULL
    AND (state = 'live' OR (state = 'deleting' AND due_at > now() + interval '1 hour'))
ORDER BY state DESC, id;

-- hold_same_content_there
SELECT id FROM context.blob
WHERE tenant_id = %(tenant_id)s AND provider = %(provider)s AND sha256 = %(sha256)s AND size_bytes = %(size_bytes)s
    AND state = 'live' AND damaged_at IS NULL AND id <> %(id)s
FOR KEY SHARE;

-- lock_records_of_blob
-- The records first, as a purge locks them; then the blob, so that nothing new points to it until the end.
SELECT id FROM context.wm_record WHERE tenant_id = %s AND blob_id = %s ORDER BY id FOR NO KEY UPDATE;

-- lock_live_blob
SELECT id FROM context.blob WHERE tenant_id = %s AND id = %s AND state = 'live' FOR UPDATE;

-- move_records
-- The version stays, since the place of the bytes is not a field that callers write. The old blob goes to the sweeper.
WITH moved AS (
    UPDATE context.wm_record SET blob_id = %(to_id)s, provider = %(provider)s
    WHERE tenant_id = %(tenant_id)s AND blob_id = %(from_id)s
    RETURNING id, entity_node_id, owner_user_id
), let_go AS (
    UPDATE context.blob SET state = 'deleting', due_at = now() + %(grace)s, owners_sha256 = ARRAY(
        SELECT DISTINCT {{blob_rows.owner_hash(owner_user_id)}} FROM moved WHERE owner_user_id <> ''
    )
    WHERE tenant_id = %(tenant_id)s AND id = %(from_id)s AND state = 'live'
), logged AS (
    INSERT INTO context.action (tenant_id, record_id, entity_node_id, created_at, kind, principal, details)
    SELECT %(tenant_id)s, id, entity_node_id, clock_timestamp(), 'moved', %(principal)s, %(details)s FROM moved
)
SELECT count(*) AS records FROM moved;

-- let_go_unreferenced
UPDATE context.blob b SET state = 'deleting', due_at = now() + %s
WHERE b.tenant_id = %s AND b.id = %s AND b.state = 'live'
    AND NOT context.has_records(b.id)
RETURNING b.id;

-- mark_damaged
UPDATE context.blob SET damaged_at = coalesce(damaged_at, now()) WHERE tenant_id = %s AND id = %s;

-- mark_sound
-- Another blob of the same content may have become live meanwhile; then the mark stays.
UPDATE context.blob b SET damaged_at = NULL
WHERE b.tenant_id = %(tenant_id)s AND b.id = %(id)s AND NOT EXISTS (
    SELECT FROM context.blob o
    WHERE o.tenant_id = b.tenant_id AND o.provider = b.provider AND o.sha256 = b.sha256
        AND o.size_bytes = b.size_bytes AND o.state = 'live' AND o.damaged_at IS NULL
)
RETURNING b.id;

-- adopt
INSERT INTO context.blob (tenant_id, id, provider, key, state, due_at, size_bytes)
VALUES (%s, %s, %s, %s, 'deleting', now() + %s, %s)
ON CONFLICT (tenant_id, provider, key) DO NOTHING
RETURNING id;
