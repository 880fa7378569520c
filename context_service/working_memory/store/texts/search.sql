-- has_index
SELECT coalesce((SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)), false) AS has_index;

-- set_indexed
SELECT set_config('enable_sort', 'off', true), set_config('hnsw.iterative_scan', 'strict_order', true),
    set_config('hnsw.ef_search', %s, true), set_config('hnsw.max_scan_tuples', %s, true),
    set_config('transaction_read_only', 'on', true);

-- records
-- Cut the answer where it is full, after at least one record.
SELECT {{read}}, content_json, content_text
FROM (
    SELECT r.*, found.place, row_number() OVER by_place AS row_place, sum(r.bytes) OVER by_place AS bytes_so_far
    FROM unnest(%(ids)s::uuid[]) WITH ORDINALITY found (id, place)
    CROSS JOIN LATERAL (
        SELECT {{stored}}, {{record_columns.content}}, {{record_columns.size_with_content}} AS bytes
        FROM context.wm_record r
        WHERE r.tenant_id = %(tenant_id)s AND r.id = found.id
        OFFSET 0
    ) r
    WINDOW by_place AS (ORDER BY found.place ROWS UNBOUNDED PRECEDING)
) r
WHERE bytes_so_far <= %(bytes_max)s OR row_place = 1
ORDER BY place;

-- scope(row)
(
    (%(entity_node_ids)s::uuid[] = '{}' OR {{row}}.entity_node_id = ANY (%(entity_node_ids)s::uuid[]))
    AND (%(memory_types)s::text[] = '{}' OR {{row}}.memory_type = ANY (%(memory_types)s::text[]))
    AND (%(graph_name)s = '' OR {{row}}.graph_name = %(graph_name)s)
    AND (%(agent_bundle_id)s = '' OR {{row}}.agent_bundle_id = %(agent_bundle_id)s)
    AND (%(app_id)s = '' OR {{row}}.app_id = %(app_id)s)
)

-- by_text(matching, names, where)
-- BM25 with the words of names and descriptions counted more often, as a share of the most that the query can get: between
-- 0 and 1, and 1 more if the name has all words. The rarity of a term is that among the matches. Of too many matches the
-- newest are ranked, because a rank reads all terms of its record. Records with an identifier of the query come first,
-- unless most of the matches have it.
WITH matched AS MATERIALIZED (
    SELECT r.id, r.terms
    FROM context.wm_record_of_tenant r
    WHERE r.tenant_id = %(tenant_id)s AND ({{matching}})
        AND (%(include_archived)s OR {{record_filters.active}}) AND {{scope(r)}} AND {{where}}
    ORDER BY r.created_at DESC, r.seq DESC
    LIMIT %(ranked_max)s
), sized AS MATERIALIZED (
    SELECT r.id, {{names}} AS is_named, array_position(r.terms, {{forms_follow}}) - 3 AS length
    FROM matched r
), occurrences AS MATERIALIZED (
    SELECT m.id, a.term, o.often
    FROM matched m
        CROSS JOIN LATERAL (
            SELECT array_position(m.terms, {{name_end}}) AS name_end,
                array_position(m.terms, {{description_end}}) AS description_end
        ) f
        CROSS JOIN unnest(%(terms)s::integer[]) a (term)
        CROSS JOIN LATERAL (
            SELECT sum(CASE
                WHEN place < f.name_end THEN {{name_weight}}
                WHEN place < f.description_end THEN {{description_weight}}
                ELSE 1
            END)::real AS often
            FROM unnest(array_positions(m.terms, a.term)) place
        ) o
    WHERE o.often IS NOT NULL
), rarity AS MATERIALIZED (
    SELECT a.term, ln(1 + (n.records - coalesce(d.records, 0) + 0.5) / (coalesce(d.records, 0) + 0.5)) AS idf,
        2 * d.records <= n.records AS is_rare
    FROM unnest(%(terms)s::integer[]) a (term)
        CROSS JOIN (SELECT count(*) AS records FROM matched) n
        LEFT JOIN (SELECT o.term, count(*) AS records FROM occurrences o GROUP BY o.term) d USING (term)
), scored AS (
    SELECT o.id, sum(
        y.idf * o.often / (o.often + {{k1}} * (1 - {{b}} + {{b}} * s.length / greatest((SELECT avg(length) FROM sized), 1)))
    ) AS score
    FROM occurrences o JOIN rarity y USING (term) JOIN sized s USING (id)
    GROUP BY o.id
), identified AS (
    SELECT o.id, count(*) AS identifiers
    FROM occurrences o JOIN rarity y USING (term)
    WHERE o.term = ANY (%(identifiers)s::integer[]) AND y.is_rare
    GROUP BY o.id
)
SELECT s.id, coalesce(i.identifiers, 0) AS identifiers, CASE WHEN s.is_named THEN 1 ELSE 0 END
    + coalesce(c.score / nullif((SELECT sum(idf) FROM rarity), 0), 0) AS score
FROM sized s LEFT JOIN scored c USING (id) LEFT JOIN identified i USING (id)
ORDER BY identifiers DESC, score DESC, s.id DESC
LIMIT %(limit)s

-- passages(where)
-- The texts of the passages that may have the words, and the terms that the record itself has.
SELECT r.id, p.n, p.texts, ARRAY(SELECT term FROM unnest(%(terms)s::integer[]) term WHERE term = ANY (r.terms)) AS found
FROM (
    SELECT f.n, p.source_id, array_agg(p.text ORDER BY p.ordinal) AS texts
    FROM json_to_recordset(%(found)s::json) f (n integer, node_id uuid, seq bigint, ordinals integer[])
        JOIN context.passage p ON p.tenant_id = %(tenant_id)s AND p.scope_id = f.node_id AND p.scope_kind = '{{node}}'
            AND p.seq = f.seq AND p.ordinal = ANY (f.ordinals)
    GROUP BY f.n, p.source_id
    OFFSET 0
) p
    JOIN context.wm_record_of_tenant r ON r.tenant_id = %(tenant_id)s AND r.id = p.source_id
WHERE (%(include_archived)s OR {{record_filters.active}}) AND {{scope(r)}} AND {{where}}

-- slice(dimension, where)
-- The dimension is no parameter: an index of vectors is of one dimension, and a planner must see that it is this one.
e.tenant_id = %(tenant_id)s AND e.owner_kind = 'record' AND e.name = '' AND e.dimension = {{dimension}}
    AND (%(include_archived)s OR coalesce(e.hidden_at > now(), true))
    AND (%(model)s = '' OR e.model = %(model)s)
    AND {{scope(e)}} AND {{where}}

-- by_vector(records, slice)
-- All distances of a slice, and then the nearest: exact. MATERIALIZED, so that no planner takes an index that finds most
-- of them instead. One more than a slice may have says that it is too large.
WITH slice AS MATERIALIZED (
    SELECT e.owner_id, e.vector OPERATOR(public.<=>) %(vector)s::public.halfvec AS distance
    FROM context.embedding_of_tenant e {{records}}
    WHERE {{slice}}
    LIMIT %(vectors_max)s + 1
)
SELECT s.owner_id AS id, 1 - s.distance AS score, (SELECT count(*) FROM slice) AS compared
FROM slice s
ORDER BY s.distance, s.owner_id
LIMIT %(limit)s

-- count(records, slice)
SELECT count(*) AS vectors
FROM (SELECT FROM context.embedding_of_tenant e {{records}} WHERE {{slice}} LIMIT %(vectors_max)s + 1) slice

-- distance
(
    (e.vector::public.halfvec({{embedding_dimension}})) OPERATOR(public.<=>)
        %(vector)s::public.halfvec({{embedding_dimension}})
)

-- by_index(records, slice)
SELECT e.owner_id AS id, 1 - {{distance}} AS score
FROM context.embedding_of_tenant e {{records}}
WHERE {{slice}}
ORDER BY {{distance}}
LIMIT %(limit)s

-- records_of_vectors
JOIN context.wm_record_of_tenant r ON r.tenant_id = e.tenant_id AND r.id = e.owner_id
