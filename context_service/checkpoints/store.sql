-- checkpoint
number, created_at, reason, label, created_by, epoch, reached_seq, step_count

-- of_window
epoch, reached_seq, entry_count, block_count, step_count, folded_step, first_number, left_out_tokens, state_tokens,
has_untold, state_text, state_pieces, tallies

-- make
-- If the window is what it was, which its row holds from here on.
WITH w AS (
    UPDATE context.context_window
    SET checkpoint_count = checkpoint_count + 1,
        checkpoint_step = CASE WHEN %(reason)s = 'steps' THEN step_count ELSE checkpoint_step END
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND closed_at IS NULL
        AND (epoch, block_count, reached_seq, retracted_count, entry_count) = (
            %(epoch)s, %(block_count)s, %(reached_seq)s, %(retracted_count)s, %(entry_count)s
        )
    RETURNING tenant_id, context_id, window_id, ancestors, owner_user_id, app_id, agent_bundle_id, checkpoint_count,
        {{of_window}}
), gone AS (
    DELETE FROM context.window_checkpoint c USING w
    WHERE c.tenant_id = w.tenant_id AND c.window_id = w.window_id AND c.number IN (
        SELECT number FROM context.window_checkpoint
        WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND reason = %(reason)s
        ORDER BY number DESC OFFSET %(kept_max)s - 1
    )
)
INSERT INTO context.window_checkpoint (
    tenant_id, context_id, window_id, ancestors, owner_user_id, app_id, agent_bundle_id, number, reason, created_by,
    label, {{of_window}}
)
SELECT tenant_id, context_id, window_id, ancestors, owner_user_id, app_id, agent_bundle_id, checkpoint_count,
    %(reason)s, %(created_by)s, %(label)s, {{of_window}}
FROM w
RETURNING {{checkpoint}};

-- read
SELECT {{checkpoint}} FROM context.window_checkpoint WHERE tenant_id = %s AND window_id = %s AND number = %s;

-- list
SELECT {{checkpoint}} FROM context.window_checkpoint
WHERE tenant_id = %s AND window_id = %s AND (%s::integer IS NULL OR number < %s)
ORDER BY number DESC
LIMIT %s;

-- newest
SELECT {{checkpoint}} FROM context.window_checkpoint
WHERE tenant_id = %s AND window_id = %s AND epoch <= %s AND reached_seq <= %s
ORDER BY number DESC
LIMIT 1;

-- prune
-- Delete the blocks that neither the window nor a checkpoint shows. Of such summaries only the text stays, in which
-- TraceMessage finds when a sentence was shown last.
WITH summaries AS (
    UPDATE context.window_summary s SET pieces = '[]', kept = '[]'
    WHERE s.tenant_id = %(tenant_id)s AND s.window_id = %(window_id)s AND s.epoch_to IS NOT NULL AND s.epoch_from > 0
        AND s.pieces <> '[]' AND NOT EXISTS (
            SELECT FROM context.window_checkpoint c
            WHERE c.tenant_id = s.tenant_id AND c.window_id = s.window_id AND c.epoch >= s.epoch_from
                AND c.epoch < s.epoch_to
        )
)
DELETE FROM context.window_block b
WHERE b.tenant_id = %(tenant_id)s AND b.window_id = %(window_id)s AND b.epoch_to IS NOT NULL AND NOT EXISTS (
    SELECT FROM context.window_checkpoint c
    WHERE c.tenant_id = b.tenant_id AND c.window_id = b.window_id AND c.epoch < b.epoch_to
        AND c.block_count > b.number
);

-- left_out
-- Of those that are left out now, and were not before.
WITH gone AS (
    SELECT int8multirange(int8range(%(seq_from)s, %(seq_to)s, '[]')) - left_out AS ranges, w.tenant_id, w.context_id
    FROM context.context_window w
    WHERE w.tenant_id = %(tenant_id)s AND w.window_id = %(window_id)s
), found AS (
    SELECT m.seq, m.message_id FROM gone
    JOIN context.message m ON m.tenant_id = gone.tenant_id AND m.context_id = gone.context_id
        AND m.seq BETWEEN %(seq_from)s AND %(seq_to)s AND m.seq <@ gone.ranges AND m.retracted_at IS NULL
)
SELECT ranges::text AS ranges, (SELECT count(*) FROM found) AS message_count, ARRAY(
    SELECT message_id FROM found ORDER BY seq LIMIT {{ids_max}}
) AS message_ids
FROM gone;

-- leave_out
UPDATE context.context_window
SET left_out = left_out + %(left_out)s::int8multirange, rolled_back_epoch = epoch + 1
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s;

-- ids
SELECT seq, message_id FROM context.message
WHERE tenant_id = %s AND context_id = %s AND seq <@ %s::int8multirange AND seq BETWEEN %s AND %s
    AND retracted_at IS NULL
ORDER BY seq
LIMIT {{ids_max}};

-- undo
-- Undo the rows that were written after the checkpoint. The rest of the window is in the checkpoint's own row.
WITH c AS (
    SELECT number, epoch, block_count, entry_count FROM context.window_checkpoint
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND number = %(number)s
), blocks AS (
    DELETE FROM context.window_block b USING c
    WHERE b.tenant_id = %(tenant_id)s AND b.window_id = %(window_id)s AND b.number >= c.block_count
), shown AS (
    UPDATE context.window_block b
    SET epoch_to = CASE WHEN b.epoch_to > c.epoch THEN NULL ELSE b.epoch_to END,
        is_masked = b.is_masked AND NOT undone.masks,
        masked_epoch = CASE WHEN undone.masks THEN NULL ELSE b.masked_epoch END,
        tokens = CASE WHEN b.is_masked AND NOT undone.masks THEN b.tokens ELSE undone.whole_tokens END,
        masked_tokens = CASE WHEN b.is_masked AND NOT undone.masks THEN undone.whole_tokens
            WHEN undone.masks THEN b.tokens ELSE b.masked_tokens END,
        pieces = CASE WHEN undone.renews THEN b.later_pieces ELSE b.pieces END,
        later_pieces = CASE WHEN undone.renews THEN b.pieces ELSE b.later_pieces END,
        later_tokens = CASE WHEN undone.renews THEN CASE WHEN b.is_masked THEN b.masked_tokens ELSE b.tokens END
            ELSE b.later_tokens END,
        renewed_epoch = CASE WHEN undone.renews THEN NULL ELSE b.renewed_epoch END
    FROM c, LATERAL (
        SELECT masks, renews, tenant_id, window_id, number,
            CASE WHEN renews THEN later_tokens WHEN is_masked THEN masked_tokens ELSE tokens END AS whole_tokens
        FROM context.window_block, LATERAL (SELECT
            coalesce(masked_epoch > c.epoch, false) AS masks,
            coalesce(renewed_epoch > c.epoch AND later_pieces IS NOT NULL, false) AS renews
        ) since
        WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND number < c.block_count
            AND (epoch_to > c.epoch OR masks OR renews)
    ) undone
    WHERE (b.tenant_id, b.window_id, b.number) = (undone.tenant_id, undone.window_id, undone.number)
), summaries AS (
    DELETE FROM context.window_summary s USING c
    WHERE s.tenant_id = %(tenant_id)s AND s.window_id = %(window_id)s AND s.epoch_from > c.epoch
), seen AS (
    UPDATE context.window_summary s SET epoch_to = NULL FROM c
    WHERE s.tenant_id = %(tenant_id)s AND s.window_id = %(window_id)s AND s.epoch_from <= c.epoch
        AND s.epoch_to > c.epoch
), entries AS (
    DELETE FROM context.window_entry e USING c
    WHERE e.tenant_id = %(tenant_id)s AND e.window_id = %(window_id)s AND e.number >= c.entry_count
), held AS (
    UPDATE context.window_entry e
    SET ended_at = CASE WHEN e.ended_checkpoint >= c.number THEN NULL ELSE e.ended_at END,
        ended_seq = CASE WHEN e.ended_checkpoint >= c.number THEN NULL ELSE e.ended_seq END,
        ended_checkpoint = CASE WHEN e.ended_checkpoint >= c.number THEN NULL ELSE e.ended_checkpoint END,
        is_told = e.is_told AND coalesce(e.told_checkpoint < c.number, true)
    FROM c
    WHERE e.tenant_id = %(tenant_id)s AND e.window_id = %(window_id)s AND e.number < c.entry_count
        AND (e.ended_checkpoint >= c.number OR e.told_checkpoint >= c.number)
), later AS (
    DELETE FROM context.window_checkpoint l USING c
    WHERE l.tenant_id = %(tenant_id)s AND l.window_id = %(window_id)s AND l.number > c.number
)
SELECT number FROM c;

-- roll_back
UPDATE context.context_window w
SET epoch = w.epoch + 1, reached_seq = %(reached_seq)s,
    block_count = c.block_count, step_count = c.step_count,
    folded_step = c.folded_step, first_number = c.first_number, left_out_tokens = c.left_out_tokens,
    state_text = c.state_text, state_pieces = c.state_pieces, state_tokens = c.state_tokens, tallies = c.tallies,
    has_untold = c.has_untold, checkpoint_step = least(w.checkpoint_step, c.step_count), prepared = NULL,
    pins_pieces = %(pieces)s, pins_tokens = %(pins_tokens)s, updated_at = now()
FROM context.window_checkpoint c
WHERE w.tenant_id = %(tenant_id)s AND w.window_id = %(window_id)s
    AND c.tenant_id = w.tenant_id AND c.window_id = w.window_id AND c.number = %(number)s
RETURNING c.state_text;
