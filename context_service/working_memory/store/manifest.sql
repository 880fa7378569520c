-- manifest
-- The entities of a page are the first that have records. Their records are ranked by ids and sizes alone; the rows
-- that fit the page are read after that. Each entity is returned as a whole, except the first one, whose records are cut
-- when the page is full; its counts by type are complete anyway. Lookups are lateral, or the planner might hash the whole
-- table.
WITH entity AS MATERIALIZED (
    SELECT e.id, e.bytes, e.place
    FROM unnest(%(entity_node_ids)s::uuid[], %(entity_bytes)s::int[]) WITH ORDINALITY e (id, bytes, place)
    CROSS JOIN LATERAL (
        SELECT FROM context.wm_record r
        WHERE r.tenant_id = %(tenant_id)s AND r.entity_node_id = e.id AND {{record_filters.filtered}}
        LIMIT 1
    ) one
    ORDER BY e.place
    LIMIT %(entities_max)s + 1
), ranked AS MATERIALIZED (
    SELECT e.id AS entity_node_id, e.place, e.bytes AS entity_bytes, r.id, r.memory_type, r.size_bytes,
        row_number() OVER (
            PARTITION BY e.place, r.memory_type ORDER BY r.created_at DESC, r.seq DESC
        ) AS rank
    FROM entity e
    CROSS JOIN LATERAL (
        SELECT r.id, r.memory_type, r.size_bytes, r.created_at, r.seq
        FROM context.wm_record r
        WHERE r.tenant_id = %(tenant_id)s AND r.entity_node_id = e.id AND {{record_filters.filtered}}
        OFFSET 0
    ) r
), grouped AS (
    SELECT entity_node_id, place, entity_bytes, memory_type, count(*) AS record_count, sum(size_bytes) AS size_bytes,
        row_number() OVER (PARTITION BY place ORDER BY memory_type COLLATE "C") AS number
    FROM ranked
    GROUP BY entity_node_id, place, entity_bytes, memory_type
), listed AS (
    SELECT g.entity_node_id, g.place, g.number, g.memory_type, g.record_count, g.size_bytes, k.id, k.rank,
        CASE WHEN coalesce(k.rank, 1) = 1 THEN %(group_bytes)s + octet_length(g.memory_type) ELSE 0 END
            + CASE WHEN coalesce(k.rank, 1) = 1 AND g.number = 1 THEN g.entity_bytes ELSE 0 END
            + coalesce(r.bytes, 0) AS bytes
    FROM grouped g
    LEFT JOIN ranked k ON k.place = g.place AND k.memory_type = g.memory_type AND k.rank <= %(records_max)s
    LEFT JOIN LATERAL (
        SELECT {{size}} AS bytes
        FROM context.wm_record r
        WHERE r.tenant_id = %(tenant_id)s AND r.id = k.id
        OFFSET 0
    ) r ON true
    WHERE g.number <= %(groups_max)s + 1
), measured AS (
    SELECT l.*, dense_rank() OVER (ORDER BY l.place) AS entity_number,
        sum(l.bytes) OVER (ORDER BY l.place) AS bytes_behind_entity,
        sum(l.bytes) OVER (ORDER BY l.place, l.number, l.rank ROWS UNBOUNDED PRECEDING) AS bytes_so_far
    FROM listed l
)
SELECT (SELECT count(*) FROM entity) AS found, m.entity_node_id AS at_id, m.memory_type AS group_type,
    m.record_count, m.size_bytes::bigint AS group_size_bytes,
    r.*
FROM measured m
LEFT JOIN LATERAL (
    SELECT {{stored}}
    FROM context.wm_record r
    WHERE r.tenant_id = %(tenant_id)s AND r.id = m.id AND m.bytes_so_far <= %(bytes_max)s
    OFFSET 0
) r ON true
WHERE m.entity_number <= %(entities_max)s
    AND (m.bytes_behind_entity <= %(bytes_max)s OR m.entity_number = 1)
    AND (coalesce(m.rank, 1) = 1 OR r.id IS NOT NULL)
ORDER BY m.place, m.number, m.rank;
