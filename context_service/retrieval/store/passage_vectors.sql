-- lacking
-- The author's name is embedded, too, since people search for authors as often as for words.
SELECT o.subject_id AS scope_id, p.seq, p.ordinal, p.text
FROM context.outbox o
    CROSS JOIN LATERAL (
        SELECT p.*
        FROM {{vector_outbox.places}}
            CROSS JOIN LATERAL (
                SELECT p.seq, p.ordinal, left(
                    CASE WHEN p.author = '' THEN p.text ELSE p.author || ': ' || p.text END, %(chars)s
                ) AS text
                FROM context.passage p
                WHERE p.tenant_id = %(tenant_id)s AND p.scope_id = o.subject_id
                    AND p.scope_kind = %(scope_kind)s AND p.seq BETWEEN owed.low AND owed.high
                    AND NOT EXISTS (
                        SELECT FROM context.passage_vector v
                        WHERE v.tenant_id = %(tenant_id)s AND v.scope_id = o.subject_id
                            AND v.scope_kind = %(scope_kind)s AND v.seq = p.seq AND v.ordinal = p.ordinal
                            AND v.model = %(model)s
                    )
                ORDER BY p.seq, p.ordinal
                LIMIT %(count_max)s
            ) p
        ORDER BY p.seq, p.ordinal
        LIMIT %(count_max)s
    ) p
WHERE o.tenant_id = %(tenant_id)s AND o.topic = %(topic)s AND o.subject_id = ANY (%(scope_ids)s)
ORDER BY o.subject_id, p.seq, p.ordinal;

-- store
-- The lock keeps a passage from being removed before its vector can be removed with it. The passage before it has its
-- vector in this batch, or got it earlier.
WITH given AS MATERIALIZED (
    SELECT g.scope_id, g.seq, g.ordinal, g.error, public.l2_normalize(g.vector::public.halfvec) AS vector
    FROM unnest(%(scope_ids)s::uuid[], %(seqs)s::bigint[], %(ordinals)s::integer[], %(errors)s::text[],
        %(vectors)s::text[]) g (scope_id, seq, ordinal, error, vector)
), there AS MATERIALIZED (
    SELECT p.scope_id, p.context_id, p.seq, p.ordinal, p.session, p.place, p.owner_user_id, p.graph_name,
        p.agent_bundle_id, p.app_id, p.ancestors, g.error, g.vector
    FROM given g
        JOIN context.passage p ON p.tenant_id = %(tenant_id)s AND p.scope_id = g.scope_id
            AND p.scope_kind = %(scope_kind)s AND p.seq = g.seq AND p.ordinal = g.ordinal
    FOR KEY SHARE OF p
)
INSERT INTO context.passage_vector (
    tenant_id, scope_id, scope_kind, context_id, seq, ordinal, previous_seq, previous_ordinal, previous_cosine,
    owner_user_id, graph_name, agent_bundle_id, app_id, ancestors, model, error, vector
)
SELECT %(tenant_id)s, t.scope_id, %(scope_kind)s, t.context_id, t.seq, t.ordinal, b.seq, b.ordinal,
    -(t.vector OPERATOR(public.<#>) b.vector), t.owner_user_id, t.graph_name, t.agent_bundle_id, t.app_id,
    t.ancestors, %(model)s, t.error, t.vector
FROM there t
    LEFT JOIN LATERAL (
        SELECT p.seq, p.ordinal, coalesce(g.vector, v.vector) AS vector
        FROM context.passage p
            LEFT JOIN given g ON g.scope_id = t.scope_id AND g.seq = p.seq AND g.ordinal = p.ordinal
            LEFT JOIN context.passage_vector v ON v.tenant_id = %(tenant_id)s AND v.scope_id = t.scope_id
                AND v.scope_kind = %(scope_kind)s AND v.seq = p.seq AND v.ordinal = p.ordinal
                AND v.model = %(model)s
        WHERE p.tenant_id = %(tenant_id)s AND p.scope_id = t.scope_id AND p.scope_kind = %(scope_kind)s
            AND p.session = t.session AND p.place = t.place - 1 AND coalesce(g.vector, v.vector) IS NOT NULL
        LIMIT 1
    ) b ON true
ON CONFLICT (tenant_id, scope_id, scope_kind, seq, ordinal) DO UPDATE
    SET previous_seq = excluded.previous_seq, previous_ordinal = excluded.previous_ordinal,
        previous_cosine = excluded.previous_cosine, model = excluded.model, error = excluded.error,
        vector = excluded.vector
RETURNING seq;

-- advance
-- Passages before the first without a vector need not be read again, unless something was written meanwhile.
UPDATE context.outbox o SET payload = {{vector_outbox.rest}}
WHERE tenant_id = %(tenant_id)s AND id = %(id)s AND {{vector_outbox.first}} < %(seq)s;

-- done
DELETE FROM context.outbox WHERE tenant_id = %(tenant_id)s AND id = %(id)s RETURNING id;

-- release
UPDATE context.outbox SET due_at = now(), attempts = 0, last_error = ''
WHERE tenant_id = %(tenant_id)s AND topic = %(topic)s AND subject_id = %(scope_id)s;

-- postpone
UPDATE context.outbox SET due_at = now() + %(delay)s, last_error = %(error)s
WHERE tenant_id = %(tenant_id)s AND topic = %(topic)s AND subject_id = ANY (%(scope_ids)s);
