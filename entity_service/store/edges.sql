-- edge
SELECT {{nodes.edge_columns}} FROM entity.edge e WHERE e.tenant_id = %(tenant_id)s AND e.id = %(id)s;

-- lock
{{edge}} FOR NO KEY UPDATE;

-- set_data
UPDATE entity.edge e
SET data = %(data)s::jsonb, version = e.version + 1
WHERE e.tenant_id = %(tenant_id)s AND e.id = %(id)s
RETURNING {{nodes.edge_columns}};

-- edges
-- As for nodes, see `store`.
SELECT {{nodes.edge_columns}}, e.found
FROM (
    SELECT
        e.*, count(*) OVER () AS found,
        sum(entity.document_bytes(e.data)) OVER (
            ORDER BY e.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS bytes_before
    FROM (
        SELECT
            e.id, e.graph_name, e.from_node_id, e.to_node_id, e.edge_type, e.data, e.created_at, e.version,
            e.context_id
        FROM entity.edge e
        WHERE e.tenant_id = %(tenant_id)s AND e.id = ANY (%(ids)s::uuid[])
    ) e
) e
WHERE coalesce(e.bytes_before, 0) < 4 * %(bytes_max)s;

-- lock_edge
SELECT {{nodes.edge_columns}} FROM entity.edge e WHERE e.tenant_id = %(tenant_id)s AND e.id = %(id)s FOR UPDATE;

-- lock_edge_by_ends
-- The columns of the unique index: one edge at most.
SELECT {{nodes.edge_columns}}
FROM entity.edge e
WHERE e.tenant_id = %(tenant_id)s AND e.to_node_id = %(to_node_id)s AND e.edge_type = %(edge_type)s
    AND e.from_node_id = %(from_node_id)s
FOR UPDATE;

-- delete_edge
DELETE FROM entity.edge WHERE tenant_id = %(tenant_id)s AND id = %(id)s;

-- settle_edges
SELECT s.looked_at, s.settled, s.last_node_id, s.last_id
FROM entity.settle_edges(%(edges_max)s, %(before_node_id)s, %(before_id)s) s;
