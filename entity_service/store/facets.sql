-- groups(key, columns, keyed, aggregates, order, filter)
-- `matched` is read several times, so Postgres computes it once: expressions over documents run once for each node that
-- the caller may see, and on no other node.
WITH matched AS MATERIALIZED (
    SELECT n.id, {{key}} AS key {{columns}}
    FROM entity.node_of_tenant n
    WHERE n.tenant_id = %(tenant_id)s AND {{filter}}
), keyed AS MATERIALIZED (
    {{keyed}}
), grouped AS (
    SELECT k.key, count(*) AS nodes {{aggregates}}
    FROM keyed k
    WHERE k.key IS NOT NULL
    GROUP BY k.key
), page AS (
    SELECT g.*, count(*) OVER () AS group_count
    FROM grouped g
    ORDER BY {{order}}
    LIMIT %(rows)s
)
SELECT
    (SELECT count(*) FROM matched) AS matched_count,
    (SELECT count(*) FROM matched m WHERE NOT EXISTS (
        SELECT FROM keyed k WHERE k.id = m.id AND k.key IS NOT NULL
    )) AS ungrouped_count,
    g.group_count, g.key::text AS key, g.nodes, to_jsonb(g.*) AS measures
FROM (SELECT 1) always
LEFT JOIN page g ON true
ORDER BY {{order}}

-- by_field
SELECT m.* FROM matched m

-- by_edge(own_end, other_end, columns, edge_type)
SELECT m.id, to_jsonb(e.other_id::text) AS key {{columns}}
FROM matched m
JOIN (
    SELECT DISTINCT e.{{own_end}} AS own_id, e.{{other_end}} AS other_id
    FROM entity.edge e
    WHERE e.tenant_id = %(tenant_id)s AND e.graph_name = %(graph_name)s AND e.edge_type = {{edge_type}}
) e ON e.own_id = m.id

-- has_edge(own_end, edge_type)
n.id IN (
    SELECT e.{{own_end}}
    FROM entity.edge e
    WHERE e.tenant_id = %(tenant_id)s AND e.graph_name = %(graph_name)s AND e.edge_type = {{edge_type}}
)

-- names
SELECT n.id::text, n.name FROM entity.node n WHERE n.tenant_id = %(tenant_id)s AND n.id = ANY (%(ids)s::uuid[]);

-- types
SELECT n.general_type_name AS type_name, count(*) AS node_count
FROM entity.node n
WHERE n.tenant_id = %(tenant_id)s AND n.graph_name = %(graph_name)s AND NOT n.is_archived
    AND (%(type_name)s::text = '' OR n.general_type_name = %(type_name)s::text)
GROUP BY n.general_type_name
ORDER BY node_count DESC, n.general_type_name
LIMIT %(rows)s;

-- fields
-- A path whose keys have a dot cannot be named in a condition, so it is left out, and so are long keys.
WITH sample AS MATERIALIZED (
    SELECT t.type_name, n.id, n.data
    FROM unnest(%(type_names)s::text[]) AS t (type_name)
    CROSS JOIN LATERAL (
        SELECT n.id, n.data
        FROM entity.node n
        WHERE n.tenant_id = %(tenant_id)s AND n.graph_name = %(graph_name)s AND n.general_type_name = t.type_name
            AND NOT n.is_archived AND entity.document_bytes(n.data) <= %(bytes_max)s
        ORDER BY n.created_at DESC, n.seq DESC
        LIMIT %(sampled)s
    ) n
), value AS (
    SELECT s.type_name, f.path, f.value, CASE
        WHEN jsonb_typeof(f.value) = 'array' THEN 'list'
        WHEN jsonb_typeof(f.value) <> 'string' THEN jsonb_typeof(f.value)
        WHEN f.value #>> '{}' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ]|$)' THEN 'date'
        ELSE 'text'
    END AS kind
    FROM sample s
    CROSS JOIN LATERAL (
        SELECT a.key AS path, a.value
        FROM jsonb_each(CASE WHEN jsonb_typeof(s.data) = 'object' THEN s.data ELSE '{}' END) a
        WHERE a.key <> '' AND position('.' IN a.key) = 0 AND length(a.key) <= 100
        UNION ALL
        SELECT a.key || '.' || b.key, b.value
        FROM jsonb_each(CASE WHEN jsonb_typeof(s.data) = 'object' THEN s.data ELSE '{}' END) a
        CROSS JOIN LATERAL jsonb_each(CASE WHEN jsonb_typeof(a.value) = 'object' THEN a.value ELSE '{}' END) b
        WHERE a.key <> '' AND b.key <> '' AND position('.' IN a.key || b.key) = 0 AND length(a.key || b.key) <= 100
        LIMIT 200
    ) f
    WHERE jsonb_typeof(f.value) <> 'object'
), facet AS (
    SELECT
        v.type_name, v.path, count(*) AS node_count, array_agg(DISTINCT v.kind) AS kinds,
        (array_agg(DISTINCT left(v.value #>> '{}', 60)) FILTER (WHERE v.kind NOT IN ('list', 'null')))[1:3] AS examples,
        row_number() OVER (PARTITION BY v.type_name ORDER BY count(*) DESC, v.path) AS number
    FROM value v
    GROUP BY v.type_name, v.path
), edge AS (
    SELECT s.type_name, array_agg(DISTINCT e.edge ORDER BY e.edge) AS edges
    FROM (
        SELECT s.type_name, s.id, row_number() OVER (PARTITION BY s.type_name ORDER BY s.id) AS number FROM sample s
    ) s
    CROSS JOIN LATERAL (
        (
            SELECT 'out:' || e.edge_type AS edge
            FROM entity.edge e
            WHERE e.tenant_id = %(tenant_id)s AND e.from_node_id = s.id
            LIMIT 100
        )
        UNION
        (
            SELECT 'in:' || e.edge_type
            FROM entity.edge e
            WHERE e.tenant_id = %(tenant_id)s AND e.to_node_id = s.id
            LIMIT 100
        )
    ) e
    WHERE s.number <= 20
    GROUP BY s.type_name
)
SELECT
    t.type_name, (SELECT count(*) FROM sample s WHERE s.type_name = t.type_name) AS sampled_count,
    coalesce((SELECT e.edges FROM edge e WHERE e.type_name = t.type_name), '{}') AS edges,
    f.path, f.kinds, f.node_count, coalesce(f.examples, '{}') AS examples
FROM unnest(%(type_names)s::text[]) WITH ORDINALITY AS t (type_name, place)
LEFT JOIN facet f ON f.type_name = t.type_name AND f.number <= %(facets)s
ORDER BY t.place, f.number;
