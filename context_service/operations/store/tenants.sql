-- list
SELECT id, name, created_at, coalesce(database, '') AS database FROM access.tenant
WHERE %(behind_id)s::uuid IS NULL OR id > %(behind_id)s::uuid
ORDER BY id LIMIT %(count)s;

-- find
SELECT id, name, created_at, coalesce(database, '') AS database FROM access.tenant
WHERE id = ANY (%(ids)s::uuid[]) OR name = %(name)s::text;

-- stored
SELECT id, records, size_bytes, records_max, bytes_max, blob_bytes_max, content_bytes_max
FROM context.stored_by(%(asking_id)s, %(ids)s);

-- set
SELECT context.set_tenant_limits(
    %(asking_id)s, %(name)s, %(changed)s, %(records_max)s, %(bytes_max)s, %(blob_bytes_max)s, %(content_bytes_max)s
) AS lives_there;
