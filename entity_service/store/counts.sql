-- graphs_of(nodes, edges)
WITH RECURSIVE name AS (
    (
        SELECT n.graph_name FROM entity.node n
        WHERE n.tenant_id = %(tenant_id)s AND n.graph_name > %(after)s
        ORDER BY n.graph_name
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT n.graph_name FROM entity.node n
        WHERE n.tenant_id = %(tenant_id)s AND n.graph_name > name.graph_name
        ORDER BY n.graph_name
        LIMIT 1
    )
    FROM name
    WHERE name.graph_name IS NOT NULL
)
SELECT
    p.graph_name,
    (
        SELECT count(*) FROM {{nodes}} n WHERE n.tenant_id = %(tenant_id)s AND n.graph_name = p.graph_name
    ) AS nodes,
    (
        SELECT count(*) FROM {{edges}} e WHERE e.tenant_id = %(tenant_id)s AND e.graph_name = p.graph_name
    ) AS edges
FROM (SELECT graph_name FROM name WHERE graph_name IS NOT NULL LIMIT %(rows)s) p

-- edge_types_of(edges)
WITH RECURSIVE name AS (
    (
        SELECT e.edge_type FROM entity.edge e
        WHERE e.tenant_id = %(tenant_id)s AND e.graph_name = %(graph_name)s AND e.edge_type > %(after)s
        ORDER BY e.edge_type
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT e.edge_type FROM entity.edge e
        WHERE e.tenant_id = %(tenant_id)s AND e.graph_name = %(graph_name)s AND e.edge_type > name.edge_type
        ORDER BY e.edge_type
        LIMIT 1
    )
    FROM name
    WHERE name.edge_type IS NOT NULL
)
SELECT
    p.edge_type, (
        SELECT count(*) FROM {{edges}} e
        WHERE e.tenant_id = %(tenant_id)s AND e.graph_name = %(graph_name)s AND e.edge_type = p.edge_type
    ) AS edges
FROM (SELECT edge_type FROM name WHERE edge_type IS NOT NULL LIMIT %(rows)s) p

-- graphs
-- The views are for callers without bounds; for others the tables count, below their policies.
{{graphs_of(entity.node_to_count, entity.edge_to_count)}};

-- graphs_in_bounds
{{graphs_of(entity.node, entity.edge)}};

-- edge_types
{{edge_types_of(entity.edge_to_count)}};

-- edge_types_in_bounds
{{edge_types_of(entity.edge)}};

-- analyze_new_tables
SELECT entity.analyze_new_tables() AS known;
