-- start_upload
INSERT INTO context.upload (tenant_id, id, due_at, size_bytes, sha256, record) VALUES (%s, %s, now() + %s, %s, %s, %s)
RETURNING due_at;

-- find_upload
SELECT u.size_bytes, u.sha256, u.due_at, u.record, coalesce(p.offset_bytes + p.size_bytes, 0) AS offset_bytes,
    coalesce(p.number, 0) AS parts
FROM context.upload u LEFT JOIN LATERAL (
    SELECT l.offset_bytes, l.size_bytes, l.number FROM context.upload_part l
    WHERE l.tenant_id = u.tenant_id AND l.upload_id = u.id
    ORDER BY l.offset_bytes DESC LIMIT 1
) p ON true
WHERE u.tenant_id = %s AND u.id = %s;

-- renew_upload
UPDATE context.upload SET due_at = now() + %s WHERE tenant_id = %s AND id = %s RETURNING id;

-- lock_upload
SELECT id FROM context.upload WHERE tenant_id = %s AND id = %s FOR UPDATE;

-- list_parts
SELECT b.provider, b.key, p.size_bytes, b.crc32c
FROM context.upload_part p JOIN context.blob b ON b.tenant_id = p.tenant_id AND b.id = p.blob_id
WHERE p.tenant_id = %s AND p.upload_id = %s
ORDER BY p.offset_bytes;

-- add_part
-- A blob that a sweeper has taken is not `writing` any more: then there is no part.
WITH kept AS (
    UPDATE context.blob SET state = 'part', due_at = NULL, size_bytes = %(size_bytes)s, sha256 = %(sha256)s,
        crc32c = %(crc32c)s
    WHERE tenant_id = %(tenant_id)s AND id = %(blob_id)s AND state = 'writing'
    RETURNING id
), renewed AS (
    UPDATE context.upload SET due_at = now() + %(lease)s
    WHERE tenant_id = %(tenant_id)s AND id = %(upload_id)s AND EXISTS (SELECT FROM kept)
    RETURNING due_at
), added AS (
    INSERT INTO context.upload_part (tenant_id, upload_id, blob_id, offset_bytes, size_bytes, number)
    SELECT %(tenant_id)s, %(upload_id)s, id, %(offset_bytes)s, %(size_bytes)s, %(number)s FROM kept
)
SELECT due_at FROM renewed;

-- remove_upload
WITH parts AS (
    DELETE FROM context.upload_part WHERE tenant_id = %(tenant_id)s AND upload_id = %(id)s
    RETURNING blob_id, size_bytes
), blobs AS (
    UPDATE context.blob b SET state = 'deleting', due_at = now() FROM parts p
    WHERE b.tenant_id = %(tenant_id)s AND b.id = p.blob_id
), gone AS (
    DELETE FROM context.upload WHERE tenant_id = %(tenant_id)s AND id = %(id)s
)
SELECT coalesce(sum(size_bytes), 0)::bigint AS size_bytes FROM parts;

-- give_up_uploads
-- After a part was added meanwhile an upload is no longer due: Postgres evaluates the condition again.
WITH due AS (
    SELECT id FROM context.upload WHERE tenant_id = %(tenant_id)s AND due_at <= now()
    ORDER BY due_at LIMIT %(count_max)s
    FOR UPDATE SKIP LOCKED
), parts AS (
    DELETE FROM context.upload_part p USING due WHERE p.tenant_id = %(tenant_id)s AND p.upload_id = due.id
    RETURNING p.blob_id
), blobs AS (
    UPDATE context.blob b SET state = 'deleting', due_at = now() FROM parts p
    WHERE b.tenant_id = %(tenant_id)s AND b.id = p.blob_id
), gone AS (
    DELETE FROM context.upload u USING due WHERE u.tenant_id = %(tenant_id)s AND u.id = due.id
)
SELECT id FROM due;
