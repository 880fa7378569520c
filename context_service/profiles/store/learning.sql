-- read
SELECT profile, app_id, counts, context_count, is_frozen, version, learned_count FROM context.window_learning
WHERE tenant_id = %s AND profile = %s AND app_id = %s

-- lock
{{read}} FOR UPDATE;

-- version
SELECT version FROM context.window_learning WHERE tenant_id = %s AND profile = %s AND app_id = %s;

-- begin
INSERT INTO context.window_learning (tenant_id, profile, app_id)
SELECT %(tenant_id)s, %(profile)s, %(app_id)s
WHERE (SELECT count(*) FROM context.window_learning WHERE tenant_id = %(tenant_id)s) < {{learnings_max}}
ON CONFLICT (tenant_id, profile, app_id) DO NOTHING;

-- write
UPDATE context.window_learning
SET counts = %s, context_count = %s, is_frozen = %s, version = %s, learned_count = %s, updated_at = now()
WHERE tenant_id = %s AND profile = %s AND app_id = %s;

-- place
-- Of steps that summaries stand for no block is seen.
SELECT w.profile, w.app_id, w.left_out::text AS left_out, b.is_masked, b.tools
FROM context.context_window w
LEFT JOIN LATERAL (
    SELECT is_masked, tools FROM context.window_block b
    WHERE b.tenant_id = %(tenant_id)s AND b.window_id = w.window_id AND b.epoch_to IS NULL AND b.kind = 'step'
        AND b.seq_from <= %(seq)s AND b.seq_to >= %(seq)s
    ORDER BY b.seq_from DESC LIMIT 1
) b ON true
WHERE w.tenant_id = %(tenant_id)s AND w.context_id = %(context_id)s AND w.window_id = %(window_id)s
    AND w.reached_seq >= %(seq)s AND w.closed_at IS NULL AND (w.config ->> 'learning')::boolean;

-- tools
SELECT tools FROM context.window_block WHERE tenant_id = %s AND window_id = %s AND number = ANY (%s);

-- app
SELECT app_id FROM context.context WHERE tenant_id = %s AND context_id = %s;

-- teach
UPDATE context.context_window w SET taught_count = taught_count + 1
WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND window_id = %(window_id)s
    AND taught_count < %(lookups_max)s
RETURNING array_length(w.ancestors, 1) = 1 AND NOT EXISTS (
    SELECT FROM context.context_window o
    WHERE o.tenant_id = %(tenant_id)s AND o.context_id = %(context_id)s AND o.taught_count > 0
) AS is_first;
