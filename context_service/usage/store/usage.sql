-- add
INSERT INTO context.window_usage AS u (
    tenant_id, context_id, window_id, ancestors, epoch, calls, pack_tokens, input_tokens, cached_tokens,
    cache_write_tokens, output_tokens, owner_user_id, app_id, agent_bundle_id
)
SELECT tenant_id, context_id, window_id, ancestors, %(epoch)s, 1, %(pack_tokens)s, %(input_tokens)s, %(cached_tokens)s,
    %(cache_write_tokens)s, %(output_tokens)s, owner_user_id, app_id, agent_bundle_id
FROM context.context_window
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
ON CONFLICT (tenant_id, window_id, epoch) DO UPDATE
    SET calls = u.calls + 1, pack_tokens = u.pack_tokens + excluded.pack_tokens,
        input_tokens = u.input_tokens + excluded.input_tokens, cached_tokens = u.cached_tokens + excluded.cached_tokens,
        cache_write_tokens = u.cache_write_tokens + excluded.cache_write_tokens,
        output_tokens = u.output_tokens + excluded.output_tokens;

-- take_factor
UPDATE context.context_window SET token_factor = %s WHERE tenant_id = %s AND window_id = %s;

-- own
SELECT bill_ratios AS ratios FROM context.context_window WHERE tenant_id = %s AND window_id = %s;

-- learn_own
UPDATE context.context_window SET bill_ratios = %s WHERE tenant_id = %s AND window_id = %s;

-- lock_calibration
-- Write the row although nothing changes: the write locks it for the call that learns from it.
INSERT INTO context.token_calibration AS c (tenant_id, model_sha, profile)
VALUES (%s, %s, %s)
ON CONFLICT (tenant_id, model_sha, profile) DO UPDATE SET updated_at = now()
RETURNING c.ratios;

-- learn
UPDATE context.token_calibration SET ratios = %s, factor = %s
WHERE tenant_id = %s AND model_sha = %s AND profile = %s;

-- forget_oldest
DELETE FROM context.token_calibration
WHERE tenant_id = %s AND (model_sha, profile) IN (
    SELECT model_sha, profile FROM context.token_calibration
    WHERE tenant_id = %s
    ORDER BY updated_at DESC, model_sha, profile
    OFFSET {{calibrations_max}}
    FOR UPDATE SKIP LOCKED
);

-- calibration
SELECT ratios FROM context.token_calibration WHERE tenant_id = %s AND model_sha = %s AND profile = %s;

-- billed
SELECT coalesce(sum(calls), 0)::bigint AS calls, coalesce(sum(pack_tokens), 0)::bigint AS pack_tokens,
    coalesce(sum(input_tokens), 0)::bigint AS input_tokens, coalesce(sum(cached_tokens), 0)::bigint AS cached_tokens,
    coalesce(sum(cache_write_tokens), 0)::bigint AS cache_write_tokens,
    coalesce(sum(output_tokens), 0)::bigint AS output_tokens
FROM context.window_usage
WHERE tenant_id = %s AND window_id = %s;
