-- insert_nodes
-- The input is a parameter for each column: to read one JSON text of all rows costs a sixth of the statement. A column
-- that has one value throughout, as most have, is null, and the value a parameter of its own. The transaction has its
-- id before it draws the first `seq`: an export waits for the transactions that may have drawn a lower one than it
-- sees.
INSERT INTO entity.node (
    tenant_id, id, created_at, modified_at, external_id, graph_name, general_type_name, specific_type_name,
    agent_bundle_id, name, status, created_by, owner_user_id, agent_id, data
)
SELECT
    %(tenant_id)s, n.id, t.created_at, t.created_at, n.external_id, coalesce(n.graph_name, %(node_graph_name)s),
    coalesce(n.general_type_name, %(node_type)s),
    coalesce(n.specific_type_name, n.general_type_name, %(node_type)s), coalesce(n.agent_bundle_id, ''),
    coalesce(n.name, ''), coalesce(n.status, %(node_status)s), %(created_by)s,
    coalesce(n.owner_user_id, %(owner_user_id)s), %(agent_id)s, n.data::jsonb
FROM unnest(
    %(node_ids)s::uuid[], %(external_ids)s::text[], %(node_graph_names)s::text[], %(agent_bundle_ids)s::text[],
    %(general_type_names)s::text[], %(specific_type_names)s::text[], %(names)s::text[], %(statuses)s::text[],
    %(node_data)s::text[], %(node_times)s::timestamptz[], %(owner_user_ids)s::text[]
) WITH ORDINALITY AS n (
    id, external_id, graph_name, agent_bundle_id, general_type_name, specific_type_name, name, status,
    data, created_at, owner_user_id, position
)
CROSS JOIN LATERAL (
    SELECT coalesce(n.created_at, now() + (n.position - 1) * interval '1 microsecond')
) t (created_at)
WHERE pg_current_xact_id() IS NOT NULL
ORDER BY n.position

-- edge_input
-- CASE, because a row is looked up by this id: below row-level security `coalesce` may leak, and no index serves it.
SELECT
    e.id, coalesce(e.graph_name, %(edge_graph_name)s) AS graph_name,
    CASE WHEN e.from_node_id IS NULL THEN %(from_node_id)s ELSE e.from_node_id END AS from_node_id, e.to_node_id,
    coalesce(e.edge_type, %(edge_type)s) AS edge_type, e.data::jsonb AS data, e.created_at, e.position
FROM unnest(
    %(edge_ids)s::uuid[], %(edge_graph_names)s::text[], %(from_node_ids)s::uuid[], %(to_node_ids)s::uuid[],
    %(edge_types)s::text[], %(edge_data)s::text[], %(edge_times)s::timestamptz[]
) WITH ORDINALITY AS e (id, graph_name, from_node_id, to_node_id, edge_type, data, created_at, position)

-- write
-- Times are a microsecond apart in the order of the request, first nodes, then edges; `seq` follows the same order,
-- because numbers are drawn after the sort. An end that is missing, in another graph or in another context
-- leaves `child_seq` null, which the table refuses, and so the whole statement. Below a node that is written here lies
-- nothing yet, says `newest_below`; the edges that are written with it raise that, in the table's trigger.
WITH new_node AS (
{{insert_nodes}}
    RETURNING id, created_at, seq, graph_name, context_id
), endpoint AS (
    SELECT id, created_at, seq, graph_name, context_id, '-infinity'::timestamptz AS newest_below FROM new_node
    UNION ALL
    SELECT n.id, n.created_at, n.seq, n.graph_name, n.context_id, NULL
    FROM unnest(%(old_ends)s::uuid[]) AS wanted (id)
    CROSS JOIN LATERAL (
        SELECT o.id, o.created_at, o.seq, o.graph_name, o.context_id
        FROM entity.node o
        WHERE o.tenant_id = %(tenant_id)s AND o.id = wanted.id
        OFFSET 0
    ) n
), edge_input AS (
{{edge_input}}
), new_edge AS (
    INSERT INTO entity.edge (
        tenant_id, id, from_node_id, to_node_id, created_at, child_created_at, child_seq, context_id, graph_name,
        edge_type, data, newest_below
    )
    SELECT
        %(tenant_id)s, e.id, e.from_node_id, e.to_node_id,
        coalesce(e.created_at, now() + (%(nodes_count)s + e.position - 1) * interval '1 microsecond'),
        child.created_at,
        CASE
            WHEN parent.graph_name = e.graph_name AND child.graph_name = e.graph_name
                AND coalesce(parent.context_id = child.context_id, true)
            THEN child.seq
        END,
        coalesce(parent.context_id, child.context_id), e.graph_name, e.edge_type, coalesce(e.data, '{}'),
        child.newest_below
    FROM edge_input e
    LEFT JOIN endpoint parent ON parent.id = e.from_node_id
    LEFT JOIN endpoint child ON child.id = e.to_node_id
), seqs AS (
    SELECT coalesce(array_agg(seq ORDER BY seq), '{}') AS seqs FROM new_node
), answered AS (
    INSERT INTO entity.request (tenant_id, request_id, rpc, fingerprint, answer)
    SELECT
        %(tenant_id)s, %(request_key)s, %(rpc)s, %(fingerprint)s,
        jsonb_build_object(
            'first_id', %(first_id)s::text, 'at', (extract(epoch FROM now()) * 1000000)::bigint, 'seqs', seqs
        )
    FROM seqs
    WHERE %(request_key)s::uuid IS NOT NULL
)
SELECT (extract(epoch FROM now()) * 1000000)::bigint AS at, seqs FROM seqs;

-- standing_nodes
-- The stored rows that a write conflicts with, or that it repeats. Each is looked up by its key: `OFFSET 0` keeps the
-- planner from turning that into a hash of all that a tenant has; for `id = ANY` it takes an index of all that a tenant
-- has while it knows nothing of a new table; and of an edge's ends only a comparison of rows can use just one index,
-- where for three equalities it would as soon read all edges of a parent.
SELECT
    n.id::text, n.graph_name, n.external_id, n.context_id::text,
    (extract(epoch FROM n.created_at) * 1000000)::bigint, n.seq
FROM unnest(%(ids)s::uuid[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT o.id, o.graph_name, o.external_id, o.context_id, o.created_at, o.seq
    FROM entity.node o
    WHERE o.tenant_id = %(tenant_id)s AND o.id = wanted.id
    OFFSET 0
) n
UNION
SELECT
    n.id::text, n.graph_name, n.external_id, n.context_id::text,
    (extract(epoch FROM n.created_at) * 1000000)::bigint, n.seq
FROM unnest(%(graph_names)s::text[], %(external_ids)s::text[]) AS wanted (graph_name, external_id)
CROSS JOIN LATERAL (
    SELECT o.id, o.graph_name, o.external_id, o.context_id, o.created_at, o.seq
    FROM entity.node o
    WHERE o.tenant_id = %(tenant_id)s AND o.graph_name = wanted.graph_name AND o.external_id = wanted.external_id
    OFFSET 0
) n;

-- standing_edges
SELECT
    e.id::text, e.from_node_id::text, e.to_node_id::text, e.edge_type,
    (extract(epoch FROM e.created_at) * 1000000)::bigint
FROM unnest(%(ids)s::uuid[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT o.id, o.from_node_id, o.to_node_id, o.edge_type, o.created_at
    FROM entity.edge o
    WHERE o.tenant_id = %(tenant_id)s AND o.id = wanted.id
    OFFSET 0
) e
UNION
SELECT
    e.id::text, e.from_node_id::text, e.to_node_id::text, e.edge_type,
    (extract(epoch FROM e.created_at) * 1000000)::bigint
FROM unnest(%(from_ids)s::uuid[], %(to_ids)s::uuid[], %(edge_types)s::text[])
    AS wanted (from_node_id, to_node_id, edge_type)
CROSS JOIN LATERAL (
    SELECT o.id, o.from_node_id, o.to_node_id, o.edge_type, o.created_at
    FROM entity.edge o
    WHERE o.tenant_id = %(tenant_id)s AND o.to_node_id = wanted.to_node_id
        AND (o.edge_type, o.from_node_id) >= (wanted.edge_type, wanted.from_node_id)
        AND (o.edge_type, o.from_node_id) <= (wanted.edge_type, wanted.from_node_id)
    OFFSET 0
) e;

-- write_new_nodes
-- Nodes that are not there yet; a concurrent writer of the same row is waited for. The columns are those of `WRITE`.
{{insert_nodes}}
ON CONFLICT DO NOTHING
RETURNING id::text, seq;

-- write_new_edges
-- Edges that are not there yet, between nodes that are. In the order of their unique index, so that two writers of
-- the same edges wait for each other only one way round. Of nodes that this transaction wrote, in `new_ids`, it has
-- written no other edges: below them there is nothing yet.
INSERT INTO entity.edge (
    tenant_id, id, from_node_id, to_node_id, created_at, child_created_at, child_seq, context_id, graph_name,
    edge_type, data, newest_below
)
SELECT
    %(tenant_id)s, e.id, e.from_node_id, e.to_node_id,
    coalesce(e.created_at, now() + (%(nodes_count)s + e.position - 1) * interval '1 microsecond'),
    child.created_at, child.seq, coalesce(parent.context_id, child.context_id), e.graph_name, e.edge_type,
    coalesce(e.data, '{}'), new.newest_below
FROM (
{{edge_input}}
) e
CROSS JOIN LATERAL (
    SELECT n.context_id FROM entity.node n WHERE n.tenant_id = %(tenant_id)s AND n.id = e.from_node_id OFFSET 0
) parent
CROSS JOIN LATERAL (
    SELECT n.context_id, n.created_at, n.seq FROM entity.node n
    WHERE n.tenant_id = %(tenant_id)s AND n.id = e.to_node_id
    OFFSET 0
) child
LEFT JOIN (SELECT unnest(%(new_ids)s::uuid[]), '-infinity'::timestamptz) AS new (id, newest_below)
    ON new.id = e.to_node_id
ORDER BY e.to_node_id, e.edge_type, e.from_node_id, e.position
ON CONFLICT DO NOTHING
RETURNING id::text;

-- transaction_time
SELECT (extract(epoch FROM now()) * 1000000)::bigint AS at;

-- node_as_written
-- A node or an edge as it was right after it was written, even if it was changed since.
SELECT %(data)s::jsonb::text, n.created_by, n.owner_user_id, n.agent_id, n.context_id::text
FROM entity.node n
WHERE n.tenant_id = %(tenant_id)s AND n.id = %(id)s;

-- edge_as_written
SELECT %(data)s::jsonb::text, e.context_id::text
FROM entity.edge e
WHERE e.tenant_id = %(tenant_id)s AND e.id = %(id)s;
