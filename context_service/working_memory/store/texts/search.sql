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

-- words
-- The text query, which is known when the statement is planned. It is null if no word counts: together with the tenant's
-- term, a query without words would match all records. The same functions made the indexed text.
nullif(
    context.search_asked(%(language)s::text, %(terms)s::text[], %(are_not)s::boolean[], %(behind_or)s::boolean[]), ''
)

-- names
nullif(to_tsquery('pg_catalog.simple', %(names)s), ''::tsquery)

-- tenant
quote_literal('tenant ' || %(tenant_id)s::uuid)::tsquery

-- by_text(where)
-- The tenant is one of the words, so the index scan does not meet what other tenants have of them. Of too many matches
-- the newest are ranked, because a rank reads all the words of its record.
WITH matched AS MATERIALIZED (
    SELECT r.id, r.search, r.name_search
    FROM context.wm_record_of_tenant r
    WHERE r.tenant_id = %(tenant_id)s
        AND (r.search @@ ({{tenant}} && {{words}}) OR r.name_search @@ ({{tenant}} && {{names}}))
        AND (%(include_archived)s OR {{record_filters.active}}) AND {{scope(r)}} AND {{where}}
    ORDER BY r.created_at DESC, r.seq DESC
    LIMIT %(ranked_max)s
)
SELECT m.id,
    coalesce(ts_rank(m.search, {{words}}, 1), 0) + CASE WHEN m.name_search @@ {{names}} THEN 1 ELSE 0 END AS score
FROM matched m
ORDER BY score DESC, m.id DESC
LIMIT %(limit)s

-- by_passages(where)
-- A number of the index may stand for another word, too: each word is looked for in the texts of the passages, and what
-- they lack the column of their record has. Ranked is the best passage alone, in the forms of the language.
SELECT r.id, (SELECT max(ts_rank(words, {{words}}, 1)) FROM unnest(p.said) words) AS score
FROM (
    SELECT p.source_id, f.asked, array_agg(context.words_of(%(language)s::text, p.text)) AS said
    FROM json_to_recordset(%(found)s::json) f (node_id uuid, seq bigint, ordinals integer[], asked text[])
        JOIN context.passage p ON p.tenant_id = %(tenant_id)s AND p.scope_id = f.node_id AND p.scope_kind = '{{node}}'
            AND p.seq = f.seq AND p.ordinal = ANY (f.ordinals)
    GROUP BY p.source_id, f.asked
    OFFSET 0
) p
    JOIN context.wm_record_of_tenant r ON r.tenant_id = %(tenant_id)s AND r.id = p.source_id
WHERE (%(include_archived)s OR {{record_filters.active}}) AND {{scope(r)}} AND {{where}}
    AND EXISTS (
        SELECT FROM unnest(p.said) words, unnest(%(terms)s::text[]) term
        WHERE words @@ nullif(context.words_asked(%(language)s::text, term), '')
    )
    AND NOT EXISTS (
        SELECT FROM unnest(p.asked) word, nullif(context.words_asked(%(language)s::text, word), '') one
        WHERE NOT (r.search @@ one OR EXISTS (SELECT FROM unnest(p.said) words WHERE words @@ one))
    )

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
