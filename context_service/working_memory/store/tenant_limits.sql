-- own_limits
SELECT blob_bytes_max, content_bytes_max, bytes_max, records_max FROM context.tenant_limit WHERE tenant_id = %s;

-- usage
SELECT coalesce(sum(records), 0)::bigint AS records, coalesce(sum(size_bytes), 0)::bigint AS size_bytes
FROM context.tenant_usage WHERE tenant_id = %s;

-- take_turn
-- This row counts nothing: its lock serializes the writes of a tenant, each until its transaction ends.
INSERT INTO context.tenant_usage AS u (tenant_id, shard, records, size_bytes) VALUES (%s, -1, 0, 0)
ON CONFLICT (tenant_id, shard) DO UPDATE SET records = u.records;

-- put_limits
SELECT context.put_tenant_limits(
    %(name)s, %(changed)s, %(records_max)s, %(bytes_max)s, %(blob_bytes_max)s, %(content_bytes_max)s
);

-- list_limits
SELECT t.name AS tenant, l.records_max, coalesce(u.records, 0) AS records, l.bytes_max,
    coalesce(u.size_bytes, 0) AS size_bytes, l.blob_bytes_max, l.content_bytes_max
FROM access.tenant t
LEFT JOIN context.tenant_limit l ON l.tenant_id = t.id
LEFT JOIN (
    SELECT tenant_id, sum(records)::bigint AS records, sum(size_bytes)::bigint AS size_bytes
    FROM context.tenant_usage GROUP BY tenant_id
) u ON u.tenant_id = t.id
WHERE (%(name)s::text IS NULL OR t.name = %(name)s) AND access.lives_here(t.id)
ORDER BY t.id;
