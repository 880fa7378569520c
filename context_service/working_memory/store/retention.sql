-- lock_due_records
-- One memory type after the other, hopping through the index, because each has its own retention: types that are kept for
-- years are not read by every sweep. Under a policy an index scan takes no bound from a function, hence the materialized
-- times. Rows that another transaction has locked are left to it, or to the next sweep. An interval of more than three
-- centuries means for ever; Postgres 16 has no infinite intervals.
WITH RECURSIVE archived_type (name) AS (
    SELECT min(memory_type) FROM context.wm_record
    WHERE tenant_id = %(tenant_id)s AND least(archived_at, expires_at) IS NOT NULL
    UNION ALL
    SELECT (
        SELECT min(r.memory_type) FROM context.wm_record r
        WHERE r.tenant_id = %(tenant_id)s AND least(r.archived_at, r.expires_at) IS NOT NULL AND r.memory_type > t.name
    )
    FROM archived_type t WHERE t.name IS NOT NULL
), due_type AS MATERIALIZED (
    SELECT t.name, CASE WHEN kept.s < 1e10 THEN now() - make_interval(secs => kept.s) ELSE '-infinity' END AS until
    FROM archived_type t CROSS JOIN LATERAL (
        SELECT coalesce(
            (
                SELECT own.kept_s FROM unnest(%(memory_types)s::text[], %(kept_s)s::float8[]) AS own (name, kept_s)
                WHERE own.name = t.name
            ),
            %(kept_s_default)s::float8
        ) AS s
    ) kept
    WHERE t.name IS NOT NULL
)
SELECT due.id
FROM due_type t CROSS JOIN LATERAL (
    SELECT r.id FROM context.wm_record r
    WHERE r.tenant_id = %(tenant_id)s AND r.memory_type = t.name AND least(r.archived_at, r.expires_at) <= t.until
    ORDER BY least(r.archived_at, r.expires_at)
    LIMIT %(count_max)s
    FOR UPDATE SKIP LOCKED
) due
LIMIT %(count_max)s;

-- purge_records
WITH purged AS (
    DELETE FROM context.wm_record WHERE tenant_id = %(tenant_id)s AND id = ANY (%(ids)s)
    RETURNING id, seq, entity_node_id, blob_id, owner_user_id, memory_type, size_bytes, passage_count
), vectors AS (
    DELETE FROM context.embedding
    WHERE tenant_id = %(tenant_id)s AND owner_kind = 'record' AND owner_id = ANY (%(ids)s)
), owed AS (
    DELETE FROM context.outbox
    WHERE tenant_id = %(tenant_id)s AND topic IN ('embedding', 'text') AND subject_id = ANY (%(ids)s)
), logged AS (
    INSERT INTO context.action (tenant_id, record_id, entity_node_id, created_at, kind, principal, details)
    SELECT %(tenant_id)s, id, entity_node_id, clock_timestamp(), 'purged', %(principal)s,
        jsonb_build_object('why', %(why)s::text, 'memory_type', memory_type, 'size_bytes', size_bytes)
    FROM purged
)
SELECT id, seq, entity_node_id, blob_id, owner_user_id, passage_count FROM purged;

-- let_go
-- A statement after the purge: it sees messages that began to point at a record while the purge waited for its lock.
SELECT context.let_go_of_records(%s::uuid[]);
