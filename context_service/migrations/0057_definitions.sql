-- Definitions of pages, version by version: what is said of nodes of a type, and who approved it. One version of a name is approved at most.

CREATE TABLE context.definition (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    version integer NOT NULL,
    state text NOT NULL DEFAULT 'DRAFT' CHECK (state IN ('DRAFT', 'APPROVED', 'RETIRED')),
    -- The wall of its pages; empty: none.
    app_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    approved_at timestamptz,
    retired_at timestamptz,
    created_by text NOT NULL,
    approved_by text NOT NULL DEFAULT '',
    rules jsonb NOT NULL,
    PRIMARY KEY (tenant_id, name, version)
);
CREATE UNIQUE INDEX definition_approved ON context.definition (tenant_id, name) WHERE state = 'APPROVED';

ALTER TABLE context.definition ENABLE ROW LEVEL SECURITY;

-- They are the tenant's: those without an app are everybody's to read whose bounds are known, and all are of keys without bounds to write.
CREATE POLICY tenant ON context.definition
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.definition AS RESTRICTIVE FOR SELECT
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR (app_id = '' AND (SELECT context.knows_bounds(nullif(current_setting('app.bounds', true), '')::jsonb)))
        OR context.app_in_bounds(app_id), false) IS NOT NULL);
CREATE POLICY bounds_of_insert ON context.definition AS RESTRICTIVE FOR INSERT
    WITH CHECK (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
CREATE POLICY bounds_of_update ON context.definition AS RESTRICTIVE FOR UPDATE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
CREATE POLICY bounds_of_delete ON context.definition AS RESTRICTIVE FOR DELETE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.definition TO :"service_role";
