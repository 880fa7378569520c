-- of_scope
v.tenant_id = %(tenant_id)s AND v.scope_id = %(scope_id)s AND v.scope_kind = %(scope_kind)s

-- compared
-- A vector of another size is none to compare with.
{{of_scope}} AND v.model = %(model)s AND public.vector_dims(v.vector) = %(dimension)s

-- cosine
-(v.vector OPERATOR(public.<#>) %(vector)s::public.halfvec)

-- told
v.seq, v.ordinal, v.previous_seq, v.previous_ordinal, v.previous_cosine, {{cosine}} AS cosine

-- whole
SELECT {{told}}, true AS is_asked FROM context.passage_vector v WHERE {{compared}};

-- cosines
-- Whatever a scope has is looked at once, for the nearest alone, and nothing of it is kept: what is told is looked up
-- by its `seq`, of which there may be many. That are those which are asked for, the nearest, and what was said right
-- behind these; and what was said before each of them. `coalesce` keeps an IN from being made a join: nobody may have
-- counted the rows yet, and one that goes through them again for each is the only slow one.
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
    SELECT behind.seq, behind.ordinal
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
        ) behind
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
