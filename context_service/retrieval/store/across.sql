-- given
-- The contexts that are searched, with their numbers and the terms of the query: a context has other numbers for a term
-- than its neighbors.
given AS MATERIALIZED (
    SELECT g.n, g.scope_id, g.is_small,
        (%(numbers)s::integer[])[(g.n - 1) * %(terms)s::integer + 1 : g.n * %(terms)s::integer] AS terms
    FROM unnest(%(scope_ids)s::uuid[], %(small)s::boolean[]) WITH ORDINALITY g (scope_id, is_small, n)
)

-- of_context(row)
{{row}}.tenant_id = %(tenant_id)s AND {{row}}.scope_id = g.scope_id AND {{row}}.scope_kind = 'context'

-- bits
-- The terms that a passage has, a bit each.
SELECT p.seq, p.ordinal, (
    SELECT sum(1::bigint << (a.k - 1)::integer) FROM unnest(g.terms) WITH ORDINALITY a (term, k)
    WHERE a.term = ANY (p.terms)
)::bigint AS bits

-- matching
-- A small context is read by its key, a large one by the index of words: an index costs the same for each context, and
-- its list of new entries is read for each. A term counts by the number of passages that have it, over all contexts.
WITH {{given}}, matched AS MATERIALIZED (
    SELECT g.n, p.*
    FROM given g CROSS JOIN LATERAL (
        {{bits}} FROM context.passage p
        WHERE {{of_context(p)}} AND p.terms && g.terms
        LIMIT %(small_max)s
    ) p
    WHERE g.is_small
    UNION ALL
    SELECT g.n, p.*
    FROM given g CROSS JOIN LATERAL (
        {{bits}} FROM context.passage_of_tenant p
        WHERE p.terms && g.terms AND nullif({{of_context(p)}}, false) IS NOT NULL
        LIMIT %(large_max)s
    ) p
    WHERE NOT g.is_small
), counted AS MATERIALIZED (
    SELECT k.k, count(*) AS passages
    FROM matched m CROSS JOIN generate_series(0, %(terms)s::integer - 1) k (k)
    WHERE m.bits >> k.k & 1 = 1
    GROUP BY k.k
), weighed AS MATERIALIZED (
    SELECT b.bits, sum(ln(1 + (%(passages)s::float8 - c.passages + .5) / (c.passages + .5))) AS weight
    FROM (SELECT DISTINCT bits FROM matched) b JOIN counted c ON b.bits >> c.k & 1 = 1
    GROUP BY b.bits
)
SELECT r.n, r.seq, r.ordinal, (SELECT array_agg(ARRAY[c.k, c.passages]) FROM counted c) AS counts
FROM (
    SELECT m.n, m.seq, m.ordinal, w.weight,
        row_number() OVER (PARTITION BY m.n ORDER BY w.weight DESC, m.seq DESC, m.ordinal DESC) AS place
    FROM matched m JOIN weighed w ON w.bits = m.bits
) r
WHERE r.place <= %(each_max)s
ORDER BY r.weight DESC, r.n, r.seq DESC, r.ordinal DESC
LIMIT %(rows_max)s;

-- places
unnest(%(ns)s::bigint[], %(seqs)s::bigint[], %(ordinals)s::integer[]) a (n, seq, ordinal)

-- rows
-- Rows as the ranking reads them; `as_rows` of the passages has the encoding of `found`.
WITH {{given}}
SELECT a.n, p.seq, p.ordinal, p.session, p.place, {{passages.length(p.terms)}} AS length, p.length_before,
    s.length AS session_length, s.places AS session_places, p.marks, p.kind, p.role, p.author, p.task_id, p.said_at,
    ARRAY(
        SELECT (place - 1) * {{asked_terms_max}} + t.k - 1
        FROM unnest(g.terms) WITH ORDINALITY t (term, k), unnest(array_positions(p.terms, t.term)) place
        WHERE t.term = ANY (p.terms)
        ORDER BY place
    )::integer[] AS found
FROM {{places}}
    JOIN given g ON g.n = a.n
    CROSS JOIN LATERAL (
        SELECT {{passages.columns}} FROM context.passage p
        WHERE {{of_context(p)}} AND p.seq = a.seq AND p.ordinal = a.ordinal
        LIMIT 1
    ) p
    CROSS JOIN LATERAL (
        SELECT s.length, s.places FROM context.passage_session s
        WHERE {{of_context(s)}} AND s.session = p.session
        LIMIT 1
    ) s;

-- texts
WITH {{given}}
SELECT a.n, p.seq, p.ordinal, p.text
FROM {{places}}
    JOIN given g ON g.n = a.n
    CROSS JOIN LATERAL (
        SELECT p.seq, p.ordinal, p.text FROM context.passage p
        WHERE {{of_context(p)}} AND p.seq = a.seq AND p.ordinal = a.ordinal
        LIMIT 1
    ) p;

-- compared
{{of_context(v)}} AND v.model = %(model)s AND public.vector_dims(v.vector) = %(dimension)s

-- told
v.seq, v.ordinal, v.previous_seq, v.previous_ordinal, v.previous_cosine, {{nearest.cosine}} AS cosine

-- told_at(wanted)
SELECT a.n, v.*
FROM {{wanted}}
    JOIN given g ON g.n = a.n
    CROSS JOIN LATERAL (
        SELECT {{told}} FROM context.passage_vector v
        WHERE {{compared}} AND v.seq = a.seq AND v.ordinal = a.ordinal
        LIMIT 1
    ) v

-- near
-- The nearest passages of the first contexts, and the vectors of places; each with the vector of the passage before it.
WITH {{given}}, near AS MATERIALIZED (
    SELECT g.n, v.seq, v.ordinal
    FROM given g CROSS JOIN LATERAL (
        SELECT v.seq, v.ordinal, {{nearest.cosine}} AS cosine FROM context.passage_vector v
        WHERE {{compared}}
        ORDER BY {{nearest.cosine}} DESC, v.seq, v.ordinal
        LIMIT %(each_max)s
    ) v
    WHERE g.n <= %(compared_contexts)s
    ORDER BY v.cosine DESC, g.n, v.seq, v.ordinal
    LIMIT %(count)s
), asked AS MATERIALIZED (
    SELECT a.n, a.seq, a.ordinal FROM {{places}} UNION SELECT n, seq, ordinal FROM near
), told AS MATERIALIZED ({{told_at(asked a)}}), before AS MATERIALIZED (
    SELECT t.n, t.previous_seq AS seq, t.previous_ordinal AS ordinal FROM told t WHERE t.previous_seq IS NOT NULL
    EXCEPT
    SELECT t.n, t.seq, t.ordinal FROM told t
)
SELECT t.*, true AS is_asked FROM told t
UNION ALL
SELECT b.*, false FROM ({{told_at(before a)}}) b;
