-- Agents that may be asked for, and templates of them: where their files are, whom they may ask, and who may name them.

CREATE TABLE context.agent (
    tenant_id uuid NOT NULL,
    is_template boolean NOT NULL,
    -- The caller's; of an agent and of a template it may be the same.
    agent_id text NOT NULL,
    -- Of an agent, if it has one.
    template_id text NOT NULL DEFAULT '',
    version integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    updated_by text NOT NULL,
    -- Who may name it; NULL: everybody of the tenant.
    callers jsonb,
    body jsonb NOT NULL,
    PRIMARY KEY (tenant_id, is_template, agent_id)
);
CREATE INDEX agent_of_template ON context.agent (tenant_id, template_id) WHERE template_id <> '';

ALTER TABLE context.agent ENABLE ROW LEVEL SECURITY;

-- They are the tenant's: everybody's to read whose bounds are known, and of keys without bounds to write.
CREATE POLICY tenant ON context.agent
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.agent AS RESTRICTIVE FOR SELECT
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR (SELECT context.knows_bounds(nullif(current_setting('app.bounds', true), '')::jsonb)), false) IS NOT NULL);
CREATE POLICY bounds_of_insert ON context.agent AS RESTRICTIVE FOR INSERT
    WITH CHECK (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
CREATE POLICY bounds_of_update ON context.agent AS RESTRICTIVE FOR UPDATE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
CREATE POLICY bounds_of_delete ON context.agent AS RESTRICTIVE FOR DELETE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.agent TO :"service_role";
