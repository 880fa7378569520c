-- page(kind, number, text, filter, after, order)
-- As of all readers of nodes: no more documents than fit a page are read, and `found` says whether that left any out.
SELECT n.found, n.kind, n.number::text, n.text, {{nodes.node_columns}}
FROM (
    SELECT
        n.*, count(*) OVER () AS found,
        sum(entity.document_bytes(n.data)) OVER (
            ORDER BY {{order}} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS bytes_before
    FROM (
        SELECT n.*, {{kind}} AS kind, {{number}} AS number, {{text}} AS text
        FROM entity.node_of_tenant n
        WHERE n.tenant_id = %(tenant_id)s AND {{filter}}
    ) n
    WHERE {{after}}
    ORDER BY {{order}}
    LIMIT %(rows)s
) n
WHERE coalesce(n.bytes_before, 0) < %(bytes_max)s
ORDER BY {{order}}

-- count(filter)
SELECT count(*) FROM entity.node_of_tenant n WHERE n.tenant_id = %(tenant_id)s AND {{filter}}

-- json_path
-- A predicate gives one item for any document: true, false, or null for unknown. A path gives none for an empty one, or
-- items of other types. The text is a parameter, so that Postgres reads only a valid text as a JSONPath.
SELECT
    pg_input_is_valid(p.text, 'jsonpath') AS is_valid,
    CASE WHEN pg_input_is_valid(p.text, 'jsonpath') THEN (
        SELECT count(*) = 1 AND coalesce(bool_and(jsonb_typeof(item) IN ('boolean', 'null')), false)
        FROM jsonb_path_query('{}'::jsonb, p.text::jsonpath, '{}', true) AS item
    ) END AS is_predicate,
    CASE WHEN pg_input_is_valid(p.text, 'jsonpath') THEN left(p.text::jsonpath::text, %(chars_max)s + 1) END AS written
FROM (SELECT %(json_path)s::text AS text OFFSET 0) p;
