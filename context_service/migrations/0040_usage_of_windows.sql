-- What vendors billed for packs: with each window, and what it teaches about counts.

ALTER TABLE context.context_window
    -- Tokens as they are counted, times this, are what is billed at most: its budget is kept by it.
    ADD COLUMN token_factor double precision NOT NULL DEFAULT 1,
    -- What keys of its context were billed, as in context.token_calibration: it teaches this window, and no other context.
    ADD COLUMN bill_ratios smallint[] NOT NULL DEFAULT '{}';

-- Of an epoch together: a window has few of them, and calls of a model without end.
CREATE TABLE context.window_usage (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    window_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    epoch integer NOT NULL,
    calls bigint NOT NULL,
    pack_tokens bigint NOT NULL,
    input_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    cache_write_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    PRIMARY KEY (tenant_id, window_id, epoch)
);
CREATE INDEX window_usage_context ON context.window_usage (tenant_id, context_id);

ALTER TABLE context.window_usage ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON context.window_usage
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY context ON context.window_usage AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_contexts()) OR context_id = (SELECT access.context_seen()), false) IS NOT NULL);
CREATE POLICY subject ON context.window_usage AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);
CREATE POLICY bounds ON context.window_usage AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR access.context_in_bounds(ancestors, agent_bundle_id, app_id), false) IS NOT NULL);

-- Ratios of what was billed to what was counted, in parts of 10,000, the newest last. It says nothing of any context, and stays when one goes:
-- the model's name, which a caller may choose, is its hash.
CREATE TABLE context.token_calibration (
    tenant_id uuid NOT NULL,
    model_sha bytea NOT NULL,
    profile text NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    ratios smallint[] NOT NULL DEFAULT '{}',
    -- What follows from them: see tokens/calibration.py.
    factor double precision NOT NULL DEFAULT 1,
    PRIMARY KEY (tenant_id, model_sha, profile)
);

ALTER TABLE context.token_calibration ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON context.token_calibration
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
-- The tenant's: seen with all bounds but those of a context.
CREATE POLICY bounds ON context.token_calibration AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR (SELECT context.knows_bounds(nullif(current_setting('app.bounds', true), '')::jsonb)), false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.window_usage, context.token_calibration TO :"service_role";
