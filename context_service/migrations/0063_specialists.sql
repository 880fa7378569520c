-- Specialists of tenants: providers of context query that search one folder of the workspace in several steps.

CREATE TABLE context.specialist (
    tenant_id uuid NOT NULL,
    specialist_id text COLLATE "C" NOT NULL,
    version integer NOT NULL DEFAULT 1,
    display_name text NOT NULL,
    instructions text NOT NULL,
    -- The folder; empty: it is not wired.
    node_ids uuid[] NOT NULL,
    steps_max integer NOT NULL,
    is_default boolean NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    updated_by text NOT NULL,
    PRIMARY KEY (tenant_id, specialist_id)
);

ALTER TABLE context.specialist ENABLE ROW LEVEL SECURITY;

-- They are the tenant's: everybody's to ask whose bounds are known, and of keys without bounds to write.
CREATE POLICY tenant ON context.specialist
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.specialist AS RESTRICTIVE FOR SELECT
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR (SELECT context.knows_bounds(nullif(current_setting('app.bounds', true), '')::jsonb)), false) IS NOT NULL);
CREATE POLICY bounds_of_insert ON context.specialist AS RESTRICTIVE FOR INSERT
    WITH CHECK (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
CREATE POLICY bounds_of_update ON context.specialist AS RESTRICTIVE FOR UPDATE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
CREATE POLICY bounds_of_delete ON context.specialist AS RESTRICTIVE FOR DELETE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.specialist TO :"service_role";
