-- levels
-- A step that a fold kept in view lies within the range of the summary around it, and a step that was merged later has a
-- summary whose range has those of other summaries in it. So each step counts once: where a block shows it, else in the
-- deepest summary.
WITH shown AS (
    SELECT CASE WHEN level <= {{last_words}} THEN 'state' WHEN level = {{conversation}} THEN 'conversation'
            WHEN level = {{segment}} THEN 'segments' ELSE 'digests' END
            AS zone, tokens, int8range(step_from, step_to, '[]') AS steps, int8range(seq_from, seq_to, '[]') AS seqs
    FROM context.window_summary
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND epoch_to IS NULL
    UNION ALL
    SELECT CASE WHEN kind = 'notice' THEN 'note' WHEN kind <> 'step' THEN kind WHEN is_masked THEN 'masked' ELSE 'verbatim' END,
        tokens, CASE WHEN kind = 'step' THEN int8range(step, step, '[]') END,
        CASE WHEN seq_from > 0 THEN int8range(seq_from, seq_to, '[]') END
    FROM context.window_block
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND epoch_to IS NULL
), zones AS (
    SELECT zone, sum(tokens)::bigint AS tokens, coalesce(range_agg(steps), '{}') AS steps,
        coalesce(range_agg(seqs), '{}') AS seqs
    FROM shown
    GROUP BY zone
), own AS (
    SELECT z.zone, z.tokens, z.steps - others.steps AS steps, z.seqs - others.seqs AS seqs
    FROM zones z CROSS JOIN LATERAL (
        SELECT coalesce(range_agg(o.steps), '{}') AS steps, coalesce(range_agg(o.seqs), '{}') AS seqs
        FROM zones o
        WHERE z.zone IN ('segments', 'digests') AND o.zone IN ('verbatim', 'masked')
            OR z.zone = 'segments' AND o.zone = 'digests'
    ) others
)
SELECT zone, tokens, seqs::text AS seqs,
    (SELECT coalesce(sum(upper(r) - lower(r)), 0) FROM unnest(steps) r)::bigint AS steps
FROM own;

-- log_tokens
-- In the order of the ranges.
SELECT coalesce(sum(m.tokens), 0)::bigint AS tokens
FROM unnest(%(seqs)s::text[]) WITH ORDINALITY AS r (seqs, n)
LEFT JOIN context.message m ON m.tenant_id = %(tenant_id)s AND m.context_id = %(context_id)s
    AND m.seq BETWEEN lower(r.seqs::int8multirange) AND upper(r.seqs::int8multirange)
    AND m.seq <@ r.seqs::int8multirange AND m.retracted_at IS NULL
    AND NOT m.seq <@ %(left_out)s::int8multirange
GROUP BY r.n
ORDER BY r.n;

-- breaks
SELECT reason, step, tokens_before, tokens_after, coalesce((receipt ->> 'tokens_kept')::integer, 0) AS tokens_kept,
    coalesce((receipt ->> 'steps_left_out')::integer, 0) AS steps_left_out
FROM context.window_fold
WHERE tenant_id = %s AND window_id = %s
ORDER BY epoch DESC
LIMIT {{breaks_max}};
