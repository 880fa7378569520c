-- node_columns
-- The columns of `Node`, in its order, of a table named n. Every query that reads nodes has them.
n.id::text, n.external_id, n.graph_name, n.agent_bundle_id, n.general_type_name, n.specific_type_name, n.name,
n.status, n.data::text, n.is_archived, n.seq, (extract(epoch FROM n.created_at) * 1000000)::bigint,
(extract(epoch FROM n.modified_at) * 1000000)::bigint, n.version, n.created_by, n.owner_user_id, n.agent_id,
n.context_id::text

-- node_is_wanted
-- Whether a caller wants a node of a table named n.
(
    (%(include_archived)s OR NOT n.is_archived)
    AND (
        %(all_node_types)s
        OR n.general_type_name = ANY (%(node_types)s::text[])
        OR n.specific_type_name = ANY (%(node_types)s::text[])
    )
)

-- edge_columns
-- The columns of `Edge`, in its order, of a table named e.
e.id::text, e.graph_name, e.from_node_id::text, e.to_node_id::text, e.edge_type, e.data::text,
(extract(epoch FROM e.created_at) * 1000000)::bigint, e.version, e.context_id::text

-- node
SELECT {{node_columns}} FROM entity.node n WHERE n.tenant_id = %(tenant_id)s AND n.id = %(id)s;

-- node_by_external_id
SELECT {{node_columns}}
FROM entity.node n
WHERE n.tenant_id = %(tenant_id)s AND n.graph_name = %(graph_name)s AND n.external_id = %(external_id)s;

-- newest_of_name
-- The conditions are those of the partial index; so is the order.
SELECT {{node_columns}}, (
    SELECT count(*) FROM entity.node o
    WHERE o.tenant_id = %(tenant_id)s AND o.graph_name = %(graph_name)s AND o.name = %(name)s
        AND o.name <> '' AND NOT o.is_archived
)
FROM entity.node n
WHERE n.tenant_id = %(tenant_id)s AND n.graph_name = %(graph_name)s AND n.name = %(name)s
    AND n.name <> '' AND NOT n.is_archived
ORDER BY n.created_at DESC, n.seq DESC
LIMIT 1;

-- nodes
-- No more documents than may be answered are read; `found` says whether that left any out. As text they can be
-- larger or smaller than in Postgres, numbers above all: hence four times the size.
SELECT {{node_columns}}, n.found
FROM (
    SELECT
        n.*, count(*) OVER () AS found,
        sum(entity.document_bytes(n.data)) OVER (
            ORDER BY n.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS bytes_before
    FROM entity.node n
    WHERE n.tenant_id = %(tenant_id)s AND n.id = ANY (%(ids)s::uuid[])
) n
WHERE coalesce(n.bytes_before, 0) < 4 * %(bytes_max)s;

-- edges_of(direction, beyond)
-- A page of a node's edges. A loop is one edge, also in a list of both directions. Ends are compared as ranges,
-- which only the index of that end serves: for an equality the planner reads all edges there are once it has seen that
-- most have one end.
SELECT {{edge_columns}}, e.found
FROM (
    SELECT
        e.*, count(*) OVER () AS found,
        sum(entity.document_bytes(e.data)) OVER (
            ORDER BY e.created_at {{direction}}, e.id {{direction}} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS bytes_before
    FROM (
        SELECT
            e.id, e.graph_name, e.from_node_id, e.to_node_id, e.edge_type, e.data, e.created_at, e.version,
            e.context_id
        FROM entity.edge e
        WHERE %(outward)s AND e.tenant_id = %(tenant_id)s AND e.from_node_id >= %(node_id)s
            AND e.from_node_id <= %(node_id)s AND (%(all_edge_types)s OR e.edge_type = ANY (%(edge_types)s::text[]))
            AND (e.created_at, e.id) {{beyond}} (%(after_at)s::timestamptz, %(after_id)s::uuid)
        UNION ALL
        SELECT
            e.id, e.graph_name, e.from_node_id, e.to_node_id, e.edge_type, e.data, e.created_at, e.version,
            e.context_id
        FROM entity.edge e
        WHERE %(inward)s AND e.tenant_id = %(tenant_id)s AND e.to_node_id >= %(node_id)s
            AND e.to_node_id <= %(node_id)s AND (%(all_edge_types)s OR e.edge_type = ANY (%(edge_types)s::text[]))
            AND (e.created_at, e.id) {{beyond}} (%(after_at)s::timestamptz, %(after_id)s::uuid)
            AND NOT (%(outward)s AND e.from_node_id = e.to_node_id)
        ORDER BY created_at {{direction}}, id {{direction}}
        LIMIT %(rows)s
    ) e
) e
WHERE coalesce(e.bytes_before, 0) < %(bytes_max)s
ORDER BY e.created_at {{direction}}, e.id {{direction}}

-- edges
{{edges_of(ASC, >)}};

-- edges_descending
-- The same page from the other end.
{{edges_of(DESC, <)}};
