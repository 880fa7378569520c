-- blocks
-- Also blocks that no pack shows any more, as long as a checkpoint does.
SELECT b.number, b.kind, b.step, b.seq_from, b.seq_to, b.is_masked, b.masked_epoch, b.epoch_to, b.pieces,
    coalesce(b.masked, '') AS masked, b.refs
FROM context.window_block b
WHERE b.tenant_id = %(tenant_id)s AND b.window_id = %(window_id)s AND (
    b.seq_from <= %(seq_to)s AND b.seq_to >= %(seq_from)s
    OR EXISTS (
        SELECT FROM unnest(string_to_array(b.refs, ' ')) AS of (ref)
        WHERE substring(of.ref FROM '^m([0-9]{1,18})[.]')::bigint BETWEEN %(seq_from)s AND %(seq_to)s
    )
)
ORDER BY b.number;

-- summaries
SELECT level, step_from, step_to, seq_from, seq_to, epoch_from, epoch_to, text
FROM context.window_summary
WHERE tenant_id = %s AND window_id = %s AND seq_from <= %s AND seq_to >= %s
ORDER BY level, step_from;

-- entries
-- Entries and pins that packs may show now.
SELECT section, text, ref, seq FROM context.window_entry
WHERE tenant_id = %s AND window_id = %s AND ended_at IS NULL AND ref <> '' AND seq BETWEEN %s AND %s
ORDER BY number;

-- breaks
SELECT epoch, reason, created_at,
    ARRAY(SELECT json_array_elements_text(receipt -> 'rules')) AS rules,
    CASE WHEN reason = 'rolled_back' THEN (receipt -> 'left_out')::text ELSE '[]' END AS left_out
FROM context.window_fold
WHERE tenant_id = %s AND window_id = %s AND (epoch = ANY (%s) OR reason = 'rolled_back' AND %s)
ORDER BY epoch;

-- masked_in
-- The last fold before an epoch that cleared a step.
SELECT max(epoch) AS epoch FROM context.window_fold
WHERE tenant_id = %s AND window_id = %s AND epoch < %s
    AND (receipt::jsonb -> 'masked_steps') @> to_jsonb(%s::integer);
