-- Windows: what one model shall see of a context, and the blocks that it is packed of. All of it can be made again from the log.

CREATE TABLE context.context_window (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    window_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    closed_at timestamptz,
    -- All messages up to it are in blocks, or were retracted; and how many of the context were, when it began to read.
    reached_seq bigint NOT NULL DEFAULT 0,
    retracted_count bigint NOT NULL DEFAULT 0,
    -- How often the prefix of its packs was broken, and the first block that is seen since.
    epoch integer NOT NULL DEFAULT 0,
    first_number integer NOT NULL DEFAULT 0,
    block_count integer NOT NULL DEFAULT 0,
    left_out_tokens bigint NOT NULL DEFAULT 0,
    context_tokens integer NOT NULL,
    token_limit integer NOT NULL,
    head_tokens integer NOT NULL,
    format text NOT NULL CHECK (format IN ('openai', 'openai_responses', 'anthropic', 'gemini')),
    tokens_family text NOT NULL,
    model text NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    created_by text NOT NULL,
    system_prompt text NOT NULL,
    goal text NOT NULL,
    -- json, not jsonb: they are sent as they came.
    tools json,
    PRIMARY KEY (tenant_id, window_id)
);
CREATE INDEX window_newest ON context.context_window (tenant_id, context_id, window_id);

CREATE TABLE context.window_block (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    window_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    number integer NOT NULL,
    tokens integer NOT NULL,
    seq_from bigint NOT NULL,
    seq_to bigint NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    -- What it is to the vendor: pairs of a role and JSON. Made once, and sent so for ever.
    pieces text NOT NULL,
    PRIMARY KEY (tenant_id, window_id, number)
);
CREATE INDEX window_block_context ON context.window_block (tenant_id, context_id);

ALTER TABLE context.context_window ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.window_block ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON context.context_window
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY context ON context.context_window AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_contexts()) OR context_id = (SELECT access.context_seen()), false) IS NOT NULL);
CREATE POLICY subject ON context.context_window AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);
CREATE POLICY bounds ON context.context_window AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR access.context_in_bounds(ancestors, agent_bundle_id, app_id), false) IS NOT NULL);

CREATE POLICY tenant ON context.window_block
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY context ON context.window_block AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_contexts()) OR context_id = (SELECT access.context_seen()), false) IS NOT NULL);
CREATE POLICY subject ON context.window_block AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);
CREATE POLICY bounds ON context.window_block AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR access.context_in_bounds(ancestors, agent_bundle_id, app_id), false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.context_window, context.window_block TO :"service_role";

-- What a receipt says of them.
ALTER TABLE context.erasure ADD COLUMN windows_removed bigint NOT NULL DEFAULT 0;
ALTER TABLE context.erasure ADD COLUMN window_steps_removed bigint NOT NULL DEFAULT 0;
