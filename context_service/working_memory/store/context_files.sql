-- find_files
-- With the context of the statement, and records without one.
SELECT r.id, r.context_id, r.memory_type, r.content_type, r.name, r.size_bytes, r.sha256, r.blob_id, r.metadata::text AS metadata,
    b.provider, b.key, b.crc32c
FROM context.wm_record r LEFT JOIN context.blob b ON b.tenant_id = r.tenant_id AND b.id = r.blob_id
WHERE r.tenant_id = %(tenant_id)s AND r.id = ANY (%(ids)s::uuid[]);

-- hold_blobs
-- The lock keeps a sweeper from taking the blobs until the records that need them are committed.
SELECT id FROM context.blob
WHERE tenant_id = %(tenant_id)s AND id = ANY (%(ids)s::uuid[]) AND state = 'live'
FOR KEY SHARE;

-- insert_files
-- The owner and the bounds are those of the context. Two messages with the same bytes share a record.
WITH new_record AS (
    INSERT INTO context.wm_record (
        tenant_id, id, context_id, blob_id, blob_key, provider, sha256, size_bytes, memory_type, name, description,
        content_type, agent_bundle_id, app_id, created_by, owner_user_id, metadata
    )
    SELECT c.tenant_id, f.id, c.context_id, f.blob_id, f.blob_key, f.provider, f.sha256, f.size_bytes, %(memory_type)s, f.name,
        f.description, f.content_type, c.agent_bundle_id, c.app_id, %(created_by)s, c.owner_user_id, f.metadata::jsonb
    FROM context.context c, ROWS FROM (
        unnest(%(ids)s::uuid[]), unnest(%(blob_ids)s::uuid[]), unnest(%(blob_keys)s::text[]), unnest(%(providers)s::text[]),
        unnest(%(sha256s)s::bytea[]), unnest(%(sizes)s::bigint[]), unnest(%(names)s::text[]),
        unnest(%(descriptions)s::text[]), unnest(%(content_types)s::text[]), unnest(%(metadata)s::text[])
    ) f (id, blob_id, blob_key, provider, sha256, size_bytes, name, description, content_type, metadata)
    WHERE c.tenant_id = %(tenant_id)s AND c.context_id = %(context_id)s
    ON CONFLICT (tenant_id, id) DO NOTHING
    RETURNING id
), logged AS (
    INSERT INTO context.action (tenant_id, record_id, kind, principal)
    SELECT %(tenant_id)s, id, 'created', %(created_by)s FROM new_record
)
SELECT id FROM new_record;

-- hold_files
-- Records of this context with these bytes, locked until the message that names them is committed.
SELECT r.id FROM context.wm_record r
    JOIN unnest(%(ids)s::uuid[], %(sha256s)s::bytea[]) f (id, sha256) ON f.id = r.id AND f.sha256 = r.sha256
WHERE r.tenant_id = %(tenant_id)s AND r.context_id = %(context_id)s
FOR KEY SHARE OF r;
