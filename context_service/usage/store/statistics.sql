-- levels
SELECT zone, sum(steps)::bigint AS steps, sum(tokens)::bigint AS tokens, coalesce(min(seq_from), 0) AS seq_from,
    coalesce(max(seq_to), 0) AS seq_to
FROM (
    SELECT CASE WHEN level <= {{last_words}} THEN 'state' WHEN level = {{conversation}} THEN 'conversation'
            WHEN level = {{segment}} THEN 'segments' ELSE 'digests' END
            AS zone, step_to - step_from + 1 AS steps,
        tokens, seq_from, seq_to
    FROM context.window_summary
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND epoch_to IS NULL
    UNION ALL
    SELECT CASE WHEN kind = 'notice' THEN 'note' WHEN kind <> 'step' THEN kind WHEN is_masked THEN 'masked' ELSE 'verbatim' END,
        (kind = 'step')::integer, tokens, nullif(seq_from, 0), nullif(seq_to, 0)
    FROM context.window_block
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND epoch_to IS NULL
) seen
GROUP BY zone;

-- log_tokens
-- In the order of the ranges.
SELECT coalesce(sum(m.tokens), 0)::bigint AS tokens
FROM unnest(%(seqs_from)s::bigint[], %(seqs_to)s::bigint[]) WITH ORDINALITY AS r (seq_from, seq_to, n)
LEFT JOIN context.message m ON m.tenant_id = %(tenant_id)s AND m.context_id = %(context_id)s
    AND m.seq BETWEEN r.seq_from AND r.seq_to AND m.retracted_at IS NULL
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
