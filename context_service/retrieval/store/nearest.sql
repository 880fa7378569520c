-- of_scope
v.tenant_id = %(tenant_id)s AND v.scope_id = %(scope_id)s AND v.scope_kind = %(scope_kind)s

-- compared
-- A vector of another size cannot be compared.
{{of_scope}} AND v.model = %(model)s AND public.vector_dims(v.vector) = %(dimension)s

-- cosine
-(v.vector OPERATOR(public.<#>) %(vector)s::public.halfvec)

-- told
v.seq, v.ordinal, v.previous_seq, v.previous_ordinal, v.previous_cosine, {{cosine}} AS cosine

-- whole
SELECT {{told}}, true AS is_asked FROM context.passage_vector v WHERE {{compared}};

-- cosines
-- All vectors of the scope are scanned once, to find the nearest, and none is kept. The rows of the answer are then
-- looked up by `seq`: the requested ones, the nearest, the passages directly after these, and the one before each.
-- `coalesce` keeps the planner from turning IN into a join: without statistics it could choose a nested scan, which is
-- the only slow plan.
WITH near AS MATERIALIZED (
    SELECT v.seq, v.ordinal
    FROM context.passage_vector v
    WHERE {{compared}} AND v.seq BETWEEN %(seq_from)s AND %(seq_to)s
    ORDER BY {{cosine}} DESC, v.seq, v.ordinal
    LIMIT %(count)s
), asked AS MATERIALIZED (
    SELECT a.seq, a.ordinal FROM unnest(%(seqs)s::bigint[], %(ordinals)s::integer[]) a (seq, ordinal)
    UNION ALL
    SELECT n.seq, n.ordinal FROM near n
    UNION ALL
    SELECT following.seq, following.ordinal
    FROM near n
        CROSS JOIN LATERAL (
            SELECT v.session, v.place FROM context.passage v
            WHERE {{of_scope}} AND v.seq = n.seq AND v.ordinal = n.ordinal
            LIMIT 1
        ) here
        CROSS JOIN LATERAL (
            SELECT v.seq, v.ordinal FROM context.passage v
            WHERE {{of_scope}} AND v.session = here.session AND v.place = here.place + 1
            LIMIT 1
        ) following
), told AS MATERIALIZED (
    SELECT {{told}}
    FROM context.passage_vector v
    WHERE {{compared}} AND v.seq = ANY (ARRAY(SELECT DISTINCT seq FROM asked))
        AND coalesce((v.seq, v.ordinal) IN (SELECT seq, ordinal FROM asked), false)
), before AS MATERIALIZED (
    SELECT previous_seq AS seq, previous_ordinal AS ordinal FROM told
    EXCEPT
    SELECT seq, ordinal FROM told
)
SELECT t.*, true AS is_asked FROM told t
UNION ALL
SELECT {{told}}, false
FROM context.passage_vector v
WHERE {{compared}} AND v.seq = ANY (ARRAY(SELECT DISTINCT seq FROM before))
    AND coalesce((v.seq, v.ordinal) IN (SELECT seq, ordinal FROM before), false);
