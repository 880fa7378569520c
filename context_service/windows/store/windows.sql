-- listed
w.window_id, w.context_id, w.model, w.format, w.tokens_family, w.context_tokens, w.token_limit, w.head_tokens,
w.goal, w.epoch, w.reached_seq, w.retracted_count, w.first_number, w.block_count, w.left_out_tokens,
w.profile, w.entry_count, w.step_count, w.folded_step, w.state_tokens, w.pins_tokens, w.owner_user_id, w.created_by,
w.has_untold, w.created_at, w.updated_at, w.closed_at, w.config::text AS config_json, w.spent_tokens,
w.token_factor, w.checkpoint_step, w.rolled_back_epoch, w.left_out::text AS left_out,
w.run_window_id IS NOT NULL AS is_of_run, w.broken_seq, w.speakers, w.imported::text AS imported_json

-- window
{{listed}}, w.system_prompt, w.tools::text AS tools_json, w.state_pieces, w.pins_pieces

-- count_open
SELECT count(*) AS opened FROM context.context_window WHERE tenant_id = %s AND context_id = %s AND closed_at IS NULL;

-- open
INSERT INTO context.context_window AS w (
    tenant_id, context_id, window_id, ancestors, retracted_count, context_tokens, token_limit, head_tokens, format,
    tokens_family, model, profile, owner_user_id, app_id, agent_bundle_id, created_by, system_prompt, goal, tools,
    config, broken_seq, token_factor
)
SELECT tenant_id, context_id, %(window_id)s, ancestors, last_seq - message_count, %(context_tokens)s,
    %(token_limit)s, %(head_tokens)s, %(format)s, %(tokens_family)s, %(model)s, %(profile)s, owner_user_id, app_id,
    agent_bundle_id, %(created_by)s, %(system_prompt)s, %(goal)s, %(tools)s::json,
    %(config)s::json, last_seq, coalesce((
        SELECT factor FROM context.token_calibration
        WHERE tenant_id = %(tenant_id)s AND model_sha = %(model_sha)s AND profile = %(profile)s
    ), 1)
FROM context.context
WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s
RETURNING {{window}};

-- read
SELECT {{window}} FROM context.context_window w WHERE w.tenant_id = %s AND w.context_id = %s AND w.window_id = %s;

-- lock
{{read}} FOR UPDATE;

-- standing
-- One look at both: how far the window is, and how far the log; with what an ordinary step has added.
SELECT {{window}}, c.last_seq, c.retracted, w.packed_seq,
    extract(epoch FROM now() - w.packed_at)::double precision AS idle_s,
    CASE WHEN c.last_seq - w.reached_seq BETWEEN 1 AND {{few}} THEN (
    SELECT {{messages_json}}
    FROM context.message m
    WHERE m.tenant_id = w.tenant_id AND m.context_id = w.context_id AND m.seq > w.reached_seq
        AND m.seq <= c.last_seq AND m.retracted_at IS NULL AND m.size_bytes <= {{small_bytes}}
        AND NOT m.seq <@ w.left_out
) END AS following
FROM context.context_window w CROSS JOIN LATERAL (
    SELECT last_seq, last_seq - message_count AS retracted FROM context.context
    WHERE tenant_id = w.tenant_id AND context_id = w.context_id AND {{log.alive}}
    LIMIT 1  -- by its key: planned while there are few, a join would go through all of the tenant for ever
) c
WHERE w.tenant_id = %(tenant_id)s AND w.window_id = %(window_id)s;

-- context_of
SELECT w.context_id, coalesce((w.config ->> 'learning')::boolean, false) AS learns
FROM context.context_window w
JOIN context.context c ON c.tenant_id = w.tenant_id AND c.context_id = w.context_id
WHERE w.tenant_id = %s AND w.window_id = %s AND c.deleted_at IS NULL AND (c.expires_at IS NULL OR c.expires_at > now());

-- headers
SELECT {{listed}}, '' AS system_prompt, '' AS tools_json, '[]' AS state_pieces,
    '[]' AS pins_pieces
FROM context.context_window w

-- header
{{headers}} WHERE w.tenant_id = %s AND w.context_id = %s AND w.window_id = %s;

-- list
{{headers}} WHERE w.tenant_id = %s AND w.context_id = %s AND (%s::uuid IS NULL OR w.window_id < %s)
ORDER BY w.window_id DESC
LIMIT %s;

-- close
WITH blocks AS (
    DELETE FROM context.window_block WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
), summaries AS (
    DELETE FROM context.window_summary WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
), entries AS (
    DELETE FROM context.window_entry WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
), checkpoints AS (
    DELETE FROM context.window_checkpoint WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
)
UPDATE context.context_window w
SET closed_at = coalesce(closed_at, now()), updated_at = coalesce(closed_at, now()), system_prompt = '', tools = NULL,
    goal = '', tallies = DEFAULT, outcomes = DEFAULT, state_text = '', state_pieces = '[]', state_tokens = 0,
    pins_pieces = '[]', pins_tokens = 0, has_untold = false, prepared = NULL
WHERE w.tenant_id = %(tenant_id)s AND w.window_id = %(window_id)s
RETURNING {{window}};

-- configure
-- A fold that was prepared by another config is none.
UPDATE context.context_window
SET config = %(config)s::text::json, token_limit = %(token_limit)s, updated_at = now(),
    prepared = CASE WHEN config::text = %(config)s THEN prepared END,
    prepared_epoch = CASE WHEN config::text = %(config)s THEN prepared_epoch END
WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND window_id = %(window_id)s;

-- spent
SELECT w.spent_tokens, w.spent_epoch, w.spent_seq
FROM context.context_window w WHERE w.tenant_id = %s AND w.context_id = %s AND w.window_id = %s
FOR UPDATE;

-- spend_of_run
SELECT spent, spent_max, is_over FROM context.spend_of_run(%s, %s, %s);

-- spend
UPDATE context.context_window SET spent_tokens = %s, spent_epoch = %s, spent_seq = %s
WHERE tenant_id = %s AND context_id = %s AND window_id = %s;

-- packed
-- It was packed for a model.
UPDATE context.context_window SET packed_at = now(), packed_seq = greatest(packed_seq, %s)
WHERE tenant_id = %s AND context_id = %s AND window_id = %s AND closed_at IS NULL;
