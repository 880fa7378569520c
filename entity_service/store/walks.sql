-- level
-- The nodes one edge away from some nodes, each once, with the first edge that reached it, and whether that edge says
-- that nothing is below. Ends and types are compared as ranges, or as rows, which only the index of that end
-- serves. For equalities the planner reads all edges of a type that the tenant has, once for each node, while it knows
-- nothing of a new table; and all of the table once it has seen that most edges have one end.
SELECT
    n.id::text, (extract(epoch FROM n.created_at) * 1000000)::bigint, n.seq,
    {{nodes.node_is_wanted}},
    jsonb_typeof(n.data #> %(order_path)s::text[]), left(n.data #>> %(order_path)s::text[], 400),
    reached.edge_id::text, reached.near_id::text, reached.is_last
FROM (
    SELECT DISTINCT ON (e.far_id) e.far_id, e.edge_id, e.is_last, near.id AS near_id
    FROM unnest(%(near_ids)s::uuid[]) AS near (id)
    CROSS JOIN LATERAL (
        SELECT e.to_node_id AS far_id, e.id AS edge_id, e.created_at, false AS is_last
        FROM entity.edge e
        WHERE %(outward)s AND %(all_edge_types)s AND e.tenant_id = %(tenant_id)s
            AND e.from_node_id >= near.id AND e.from_node_id <= near.id
        UNION ALL
        SELECT e.to_node_id, e.id, e.created_at, (e.newest_below = '-infinity') IS TRUE
        FROM unnest(%(edge_types)s::text[]) AS w (edge_type)
        CROSS JOIN LATERAL (
            SELECT e.to_node_id, e.id, e.created_at, e.newest_below
            FROM entity.edge e
            WHERE %(outward)s AND e.tenant_id = %(tenant_id)s
                AND (e.from_node_id, e.edge_type) >= (near.id, w.edge_type)
                AND (e.from_node_id, e.edge_type) <= (near.id, w.edge_type)
            OFFSET 0
        ) e
        UNION ALL
        SELECT e.from_node_id, e.id, e.created_at, false
        FROM entity.edge e
        WHERE %(inward)s AND %(all_edge_types)s AND e.tenant_id = %(tenant_id)s
            AND e.to_node_id >= near.id AND e.to_node_id <= near.id
        UNION ALL
        SELECT e.from_node_id, e.id, e.created_at, false
        FROM unnest(%(edge_types)s::text[]) AS w (edge_type)
        CROSS JOIN LATERAL (
            SELECT e.from_node_id, e.id, e.created_at
            FROM entity.edge e
            WHERE %(inward)s AND e.tenant_id = %(tenant_id)s
                AND (e.to_node_id, e.edge_type) >= (near.id, w.edge_type)
                AND (e.to_node_id, e.edge_type) <= (near.id, w.edge_type)
            OFFSET 0
        ) e
    ) e
    ORDER BY e.far_id, e.created_at, e.edge_id
    LIMIT %(rows)s
) reached
CROSS JOIN LATERAL (
    SELECT
        n.id, n.created_at, n.seq, n.is_archived, n.general_type_name, n.specific_type_name, n.data, n.context_id
    FROM entity.node n
    WHERE n.tenant_id = %(tenant_id)s AND n.id = reached.far_id
    OFFSET 0
) n
WHERE %(context_id)s::uuid IS NULL OR n.context_id = %(context_id)s::uuid;

-- starts
-- The nodes that a walk starts from: the columns of `LEVEL`, without an edge.
SELECT
    n.id::text, (extract(epoch FROM n.created_at) * 1000000)::bigint, n.seq,
    {{nodes.node_is_wanted}},
    jsonb_typeof(n.data #> %(order_path)s::text[]), left(n.data #>> %(order_path)s::text[], 400),
    n.graph_name, n.context_id::text
FROM entity.node n
WHERE n.tenant_id = %(tenant_id)s AND n.id = ANY (%(start_ids)s::uuid[]);

-- is_bounded
-- As the indexes have it.
(e.edge_type IN {{bounded_edge_types}}) IS TRUE

-- reached_columns
scanned, n.depth, n.edge_id::text, n.edge_type, n.near_id::text, n.edge_data::text

-- row_columns(columns)
    scanned, (extract(epoch FROM n.created_at) * 1000000)::bigint, n.seq,
    CASE WHEN n.id IS NOT NULL THEN convert_to(concat('[', {{columns}}, ']'), 'UTF8') END

-- join_io
    LEFT JOIN LATERAL (
        SELECT
            io.input, io.output,
            coalesce(entity.document_bytes(io.input), 0) + coalesce(entity.document_bytes(io.output), 0) AS bytes
        FROM entity.node_io io
        WHERE io.tenant_id = %(tenant_id)s AND io.node_id = n.id
        OFFSET 0
    ) io ON true

-- far_node
-- The far end of an edge, as expressions see it; a table `far`.
json_build_object(
    'id', far.id, 'name', far.name, 'type', far.specific_type_name, 'general_type', far.general_type_name,
    'status', far.status, 'is_archived', far.is_archived
)

-- join_edges
-- All edges of a node of the page, oldest first: null if there are more than `edges_max`, or if their data is larger
-- than `edge_bytes_max`. An edge counts if the caller sees its far end, and if both ends are of one context.
    LEFT JOIN LATERAL (
        SELECT
            CASE
                WHEN count(*) <= {{edges_max}} AND coalesce(sum(e.bytes), 0) <= {{edge_bytes_max}} THEN coalesce(
                    json_agg(
                        json_build_object('type', e.edge_type, 'direction', e.direction, 'data', e.data, 'node', e.far)
                        ORDER BY e.created_at, e.id, e.direction
                    )::text,
                    '[]'
                )
                ELSE 'null'
            END AS edges,
            least(coalesce(sum(e.bytes), 0), {{edge_bytes_max}}) + least(count(*), {{edges_max}}) * %(row_bytes)s AS bytes
        FROM (
            SELECT
                e.id, e.created_at, e.edge_type, e.direction, e.data, entity.document_bytes(e.data) AS bytes,
                {{far_node}} AS far
            FROM (
                (
                    SELECT e.id, e.created_at, e.edge_type, 'out' AS direction, e.data, e.to_node_id AS far_id
                    FROM entity.edge e
                    WHERE e.tenant_id = %(tenant_id)s AND e.from_node_id >= n.id AND e.from_node_id <= n.id
                    LIMIT {{edges_max}} + 1
                )
                UNION ALL
                (
                    SELECT e.id, e.created_at, e.edge_type, 'in', e.data, e.from_node_id
                    FROM entity.edge e
                    WHERE e.tenant_id = %(tenant_id)s AND e.to_node_id >= n.id AND e.to_node_id <= n.id
                    LIMIT {{edges_max}} + 1
                )
            ) e
            CROSS JOIN LATERAL (
                SELECT
                    far.id, far.name, far.specific_type_name, far.general_type_name, far.status, far.is_archived,
                    far.context_id
                FROM entity.node far
                WHERE far.tenant_id = %(tenant_id)s AND far.id = e.far_id
                OFFSET 0
            ) far
            WHERE n.context_id IS NULL OR far.context_id = n.context_id
        ) e
    ) edges ON true

-- join_path
-- The steps from the start to a node that was visited, each an edge and the node it led to.
    LEFT JOIN LATERAL (
        SELECT
            coalesce(
                json_agg(
                    json_build_object(
                        'type', e.edge_type, 'direction', CASE WHEN e.to_node_id = c.far_id THEN 'out' ELSE 'in' END,
                        'node', {{far_node}}
                    )
                    ORDER BY c.position
                )::text,
                '[]'
            ) AS path,
            count(*) * %(row_bytes)s AS bytes
        FROM unnest(v.path_edge_ids::uuid[], v.path_node_ids::uuid[])
            WITH ORDINALITY AS c (edge_id, far_id, position)
        CROSS JOIN LATERAL (
            SELECT e.edge_type, e.to_node_id FROM entity.edge e
            WHERE e.tenant_id = %(tenant_id)s AND e.id = c.edge_id
            OFFSET 0
        ) e
        CROSS JOIN LATERAL (
            SELECT far.id, far.name, far.specific_type_name, far.general_type_name, far.status, far.is_archived
            FROM entity.node far
            WHERE far.tenant_id = %(tenant_id)s AND far.id = c.far_id
            OFFSET 0
        ) far
    ) path ON true

-- join_path_of_child
-- The one step from the start to a child of the page.
    LEFT JOIN LATERAL (
        SELECT
            json_build_array(
                json_build_object('type', c.edge_type, 'direction', 'out', 'node', {{far_node}})
            )::text AS path,
            %(row_bytes)s AS bytes
        FROM (SELECT n.*) far
    ) path ON true

-- children(columns, bytes, read, joins, direction, beyond)
-- One page of an indexed walk: the children of a node in the order of `created_at`, then `seq`. Each edge type is an
-- index scan of its own that stops after `rows`; so the first `rows` different children of all types are exact, and
-- so is the edge of each that comes first. A page ends where its documents pass `bytes_max` too. Children that a
-- filter hides come as their key alone: the next page starts after them.
WITH RECURSIVE start AS MATERIALIZED (
    SELECT context_id FROM entity.node WHERE tenant_id = %(tenant_id)s AND id = %(start_id)s
), present (edge_type) AS (
    -- Without edge types: hop from each type in the index to the next.
    (
        SELECT e.edge_type FROM entity.edge e
        WHERE %(all_edge_types)s AND e.tenant_id = %(tenant_id)s AND e.from_node_id = %(start_id)s
        ORDER BY e.edge_type LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT e.edge_type FROM entity.edge e
        WHERE e.tenant_id = %(tenant_id)s AND e.from_node_id = %(start_id)s AND e.edge_type > p.edge_type
        ORDER BY e.edge_type LIMIT 1
    )
    FROM present p WHERE p.edge_type IS NOT NULL
), wanted (edge_type) AS (
    SELECT unnest(%(edge_types)s::text[])
    UNION ALL
    SELECT edge_type FROM present WHERE edge_type IS NOT NULL
), child AS (
    SELECT DISTINCT ON (e.child_created_at, e.child_seq)
        e.id, e.edge_type, e.to_node_id, e.child_created_at, e.child_seq, e.data, e.version
    FROM wanted w
    CROSS JOIN LATERAL (
        SELECT e.id, e.edge_type, e.to_node_id, e.child_created_at, e.child_seq, e.created_at, e.data, e.version
        FROM entity.edge e
        WHERE e.tenant_id = %(tenant_id)s AND e.from_node_id = %(start_id)s AND e.edge_type = w.edge_type
            AND (e.child_created_at, e.child_seq) {{beyond}} (%(after_at)s::timestamptz, %(after_seq)s::bigint)
            AND e.to_node_id <> %(start_id)s
        ORDER BY e.child_created_at {{direction}}, e.child_seq {{direction}}
        LIMIT %(rows)s
    ) e
    ORDER BY e.child_created_at {{direction}}, e.child_seq {{direction}}, e.created_at, e.id
    LIMIT %(rows)s
), page AS (
    SELECT
        (SELECT count(*) FROM child) AS scanned, 1 AS depth, c.id AS edge_id, c.edge_type,
        %(start_id)s::uuid AS near_id, c.data AS edge_data, c.version AS edge_version, c.child_created_at AS created_at,
        c.child_seq AS seq, n.*{{read}},
        sum({{bytes}}) OVER (
            ORDER BY c.child_created_at {{direction}}, c.child_seq {{direction}} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS bytes_before
    FROM child c
    LEFT JOIN LATERAL (
        SELECT
            n.id, n.external_id, n.graph_name, n.agent_bundle_id, n.general_type_name, n.specific_type_name, n.name,
            n.status, n.data, n.is_archived, n.modified_at, n.version, n.created_by, n.owner_user_id, n.agent_id,
            n.context_id
        FROM entity.node n
        WHERE n.tenant_id = %(tenant_id)s AND n.id = c.to_node_id
            AND {{nodes.node_is_wanted}}
            AND coalesce((SELECT s.context_id FROM start s) = n.context_id, (SELECT s.context_id IS NULL FROM start s))
        OFFSET 0
    ) n ON true{{joins}}
)
SELECT
{{columns}}
FROM page n
WHERE coalesce(n.bytes_before, 0) < %(bytes_max)s
ORDER BY n.created_at {{direction}}, n.seq {{direction}}

-- documents(columns, bytes, read, joins)
-- The documents of nodes that were visited, in the order given.
WITH page AS (
    SELECT
        v.position AS scanned, v.depth, v.edge_id, e.edge_type, v.near_id, e.data AS edge_data,
        e.version AS edge_version, n.*{{read}},
        sum({{bytes}}) OVER (ORDER BY v.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
    FROM unnest(
        %(ids)s::uuid[], %(depths)s::integer[], %(edge_ids)s::uuid[], %(near_ids)s::uuid[],
        %(paths_edge_ids)s::text[], %(paths_node_ids)s::text[]
    ) WITH ORDINALITY AS v (id, depth, edge_id, near_id, path_edge_ids, path_node_ids, position)
    CROSS JOIN LATERAL (
        SELECT n.*
        FROM entity.node n
        WHERE n.tenant_id = %(tenant_id)s AND n.id = v.id
        OFFSET 0
    ) n
    LEFT JOIN LATERAL (
        SELECT e.edge_type, e.data, e.version FROM entity.edge e
        WHERE e.tenant_id = %(tenant_id)s AND e.id = v.edge_id
        OFFSET 0
    ) e ON true{{joins}}
)
SELECT
{{columns}}
FROM page n
WHERE coalesce(n.bytes_before, 0) < %(bytes_max)s
ORDER BY n.scanned

-- newest(columns, bytes, read, joins)
-- The newest nodes up to three steps below a node, without a visit to the rest: the turns of a conversation of a hundred
-- thousand, say, for a walk to the last twenty. It reads a few children of each node, from the newest on, and then
-- proves that nothing newer was left out; or says that it cannot, and the caller runs it again with higher limits.
--
-- It can because an edge says two times, and an index has each in its order: `child_created_at`, how new its child is,
-- and `newest_below`, an upper bound of the times one or two steps below that child. (-infinity: nothing is below it;
-- null: not known yet; the migration `newest_below` says how it is kept.) The parts, in turn:
--
--   child     the newest `rows` children of the start, of each edge type, after the last row of the previous page
--   floor     how new the `rows`-th of these is, of all types together; -infinity: there are fewer. Nothing older is
--             looked for
--   parent    the children of the start to look below: those with something as new as the floor below them, `parents` of
--             each type, the newest; and `more` of those that are not known
--   near      they, each once
--   parent2   the same once more, for walks of three steps: which children of these to look below, `rows` of each
--   below     the newest `rows` children, as new as the floor, of each node of `near` and `parent2`
--   unread    an upper bound of the times of all rows that were left out: where one of these reads stopped at its limit,
--             the time of its last row (`number` tells; infinity, for edges that are not known)
--   reached   the rows that are newer than `unread` and not older than the floor, so that no row that belongs
--             between is missing: each node once, with its least depth and the first edge that led there
--   hit       those of them that the filters want, and the start where it is wanted: the newest `limit` and one more
--   found     how many these are, where they are more than the limit, or nothing was left out. Else no row: the look was
--             too narrow. Nor where too much was read for the caller's budget, or contexts are to be heeded
--   page      they, with their documents, up to `bytes_max`
--
-- `scanned` of a row is the number of `found`; null: the answer is not here. One row at least, if the start is there.
--
-- Ends and types are compared as rows, which the index turns into its first and last entry. With ranges of ends as well
-- them it reads all edges of an end; before PostgreSQL 18 it does so anyway for a type that an end has none of, at some
-- 50 ns an edge. With equalities it does not, but the planner prefers the index of types while it knows nothing.
WITH start AS MATERIALIZED (
    SELECT n.id, n.created_at, n.seq, n.context_id
    FROM entity.node n
    WHERE n.tenant_id = %(tenant_id)s AND n.id = %(start_id)s
), child AS MATERIALIZED (
    SELECT e.*
    FROM unnest(%(edge_types)s::text[]) AS w (edge_type)
    CROSS JOIN LATERAL (
        SELECT
            e.id, e.to_node_id, e.edge_type, e.data, e.version, e.created_at, e.child_created_at, e.child_seq,
            row_number() OVER newest AS number
        FROM entity.edge e
        WHERE e.tenant_id = %(tenant_id)s AND (e.from_node_id, e.edge_type) >= (%(start_id)s, w.edge_type)
            AND (e.from_node_id, e.edge_type, e.child_created_at, e.child_seq)
                < (%(start_id)s, w.edge_type, %(after_at)s::timestamptz, %(after_seq)s::bigint)
        WINDOW newest AS (
            ORDER BY e.from_node_id DESC, e.edge_type DESC, e.child_created_at DESC, e.child_seq DESC
            ROWS UNBOUNDED PRECEDING
        )
        LIMIT %(rows)s
    ) e
), floor AS MATERIALIZED (
    SELECT coalesce(
        (SELECT c.child_created_at FROM child c ORDER BY c.child_created_at DESC OFFSET %(rows)s - 1 LIMIT 1),
        '-infinity'
    ) AS floor_at
), parent AS MATERIALIZED (
    SELECT e.*
    FROM unnest(%(edge_types)s::text[]) AS w (edge_type)
    CROSS JOIN LATERAL (
        SELECT e.to_node_id, e.newest_below, row_number() OVER newest AS number
        FROM entity.edge e
        WHERE e.tenant_id = %(tenant_id)s
            AND (e.from_node_id, e.edge_type, e.newest_below)
                >= (%(start_id)s, w.edge_type, (SELECT f.floor_at FROM floor f))
            AND (e.from_node_id, e.edge_type) <= (%(start_id)s, w.edge_type)
            AND e.newest_below > '-infinity' AND {{is_bounded}}
        WINDOW newest AS (
            ORDER BY e.from_node_id DESC, e.edge_type DESC, e.newest_below DESC ROWS UNBOUNDED PRECEDING
        )
        LIMIT %(parents)s
    ) e
    UNION ALL
    (
        SELECT e.to_node_id, 'infinity', row_number() OVER ()
        FROM entity.edge e
        WHERE e.tenant_id = %(tenant_id)s AND e.from_node_id >= %(start_id)s AND e.from_node_id <= %(start_id)s
            AND e.newest_below IS NULL AND {{is_bounded}}
            AND (e.edge_type = ANY (%(edge_types)s::text[])) IS TRUE
        LIMIT %(parents)s
    )
), near AS MATERIALIZED (
    SELECT DISTINCT p.to_node_id AS id FROM parent p WHERE p.to_node_id <> %(start_id)s
), parent2 AS MATERIALIZED (
    SELECT e.*
    FROM near
    CROSS JOIN unnest(%(edge_types)s::text[]) AS w (edge_type)
    CROSS JOIN LATERAL (
        SELECT e.to_node_id, e.newest_below, row_number() OVER newest AS number
        FROM entity.edge e
        WHERE %(depth_max)s = 3 AND e.tenant_id = %(tenant_id)s
            AND (e.from_node_id, e.edge_type, e.newest_below)
                >= (near.id, w.edge_type, (SELECT f.floor_at FROM floor f))
            AND (e.from_node_id, e.edge_type) <= (near.id, w.edge_type)
            AND e.newest_below > '-infinity' AND {{is_bounded}}
        WINDOW newest AS (
            ORDER BY e.from_node_id DESC, e.edge_type DESC, e.newest_below DESC ROWS UNBOUNDED PRECEDING
        )
        LIMIT %(rows)s
    ) e
    UNION ALL
    SELECT e.to_node_id, 'infinity', e.number
    FROM near
    CROSS JOIN LATERAL (
        SELECT e.to_node_id, row_number() OVER () AS number
        FROM entity.edge e
        WHERE %(depth_max)s = 3 AND e.tenant_id = %(tenant_id)s
            AND e.from_node_id >= near.id AND e.from_node_id <= near.id
            AND e.newest_below IS NULL AND {{is_bounded}}
            AND (e.edge_type = ANY (%(edge_types)s::text[])) IS TRUE
        LIMIT %(rows)s
    ) e
), below AS MATERIALIZED (
    SELECT p.depth, p.id AS near_id, e.*
    FROM (
        SELECT min(p.depth) AS depth, p.id
        FROM (SELECT 2 AS depth, id FROM near UNION ALL SELECT 3, to_node_id FROM parent2) p
        WHERE p.id <> %(start_id)s
        GROUP BY p.id
    ) p
    CROSS JOIN unnest(%(edge_types)s::text[]) AS w (edge_type)
    CROSS JOIN LATERAL (
        SELECT
            e.id, e.to_node_id, e.edge_type, e.data, e.version, e.created_at, e.child_created_at, e.child_seq,
            row_number() OVER newest AS number
        FROM entity.edge e
        WHERE e.tenant_id = %(tenant_id)s
            AND (e.from_node_id, e.edge_type, e.child_created_at)
                >= (p.id, w.edge_type, (SELECT f.floor_at FROM floor f))
            AND (e.from_node_id, e.edge_type, e.child_created_at, e.child_seq)
                < (p.id, w.edge_type, %(after_at)s::timestamptz, %(after_seq)s::bigint)
        WINDOW newest AS (
            ORDER BY e.from_node_id DESC, e.edge_type DESC, e.child_created_at DESC, e.child_seq DESC
            ROWS UNBOUNDED PRECEDING
        )
        LIMIT %(rows)s
    ) e
), unread AS MATERIALIZED (
    SELECT greatest(
        (SELECT max(child_created_at) FROM child WHERE number = %(rows)s),
        (SELECT max(child_created_at) FROM below WHERE number = %(rows)s),
        (SELECT max(newest_below) FROM parent WHERE number = %(parents)s),
        (SELECT max(newest_below) FROM parent2 WHERE number = %(rows)s),
        '-infinity'
    ) AS unread_at
), reached AS MATERIALIZED (
    SELECT DISTINCT ON (e.to_node_id)
        e.to_node_id, e.depth, e.id AS edge_id, e.edge_type, e.near_id, e.data, e.version, e.child_created_at,
        e.child_seq
    FROM (
        SELECT 1 AS depth, %(start_id)s::uuid AS near_id, c.* FROM child c
        UNION ALL
        SELECT b.* FROM below b
    ) e
    WHERE e.to_node_id <> %(start_id)s AND e.child_created_at > (SELECT u.unread_at FROM unread u)
        AND e.child_created_at >= (SELECT f.floor_at FROM floor f)
    ORDER BY e.to_node_id, e.depth, e.created_at, e.id
), hit AS MATERIALIZED (
    SELECT r.depth, r.edge_id, r.edge_type, r.near_id, r.data AS edge_data, r.version AS edge_version, n.*
    FROM (
        SELECT * FROM reached
        UNION ALL
        SELECT s.id, 0, NULL, NULL, NULL, NULL, NULL, s.created_at, s.seq
        FROM start s
        WHERE %(include_start)s AND (s.created_at, s.seq) < (%(after_at)s::timestamptz, %(after_seq)s::bigint)
            AND s.created_at > (SELECT u.unread_at FROM unread u) AND s.created_at >= (SELECT f.floor_at FROM floor f)
        ORDER BY child_created_at DESC, child_seq DESC
    ) r
    CROSS JOIN LATERAL (
        SELECT n.*
        FROM entity.node n
        WHERE n.tenant_id = %(tenant_id)s AND n.id = r.to_node_id
            AND {{nodes.node_is_wanted}}
        OFFSET 0
    ) n
    ORDER BY r.child_created_at DESC, r.child_seq DESC
    LIMIT %(limit)s + 1
), found AS MATERIALIZED (
    SELECT count(*) AS scanned
    FROM hit
    HAVING (
            count(*) > %(limit)s
            OR (SELECT u.unread_at = '-infinity' AND f.floor_at = '-infinity' FROM unread u CROSS JOIN floor f)
        )
        AND (SELECT count(*) FROM reached) < %(node_budget)s
        AND NOT EXISTS (SELECT FROM start s WHERE s.context_id IS NOT NULL)
), page AS (
    SELECT
        n.*{{read}},
        sum({{bytes}}) OVER (
            ORDER BY n.created_at DESC, n.seq DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS bytes_before
    FROM hit n{{joins}}
)
SELECT
{{columns}}
FROM start
LEFT JOIN found f ON true
LEFT JOIN page n ON f.scanned > 0 AND coalesce(n.bytes_before, 0) < %(bytes_max)s
ORDER BY n.created_at DESC, n.seq DESC
