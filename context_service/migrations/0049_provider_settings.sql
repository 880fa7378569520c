-- What a tenant's administrators say of a provider of context query: whether it may be asked, is asked by default, and how long it has.

CREATE TABLE context.provider_setting (
    tenant_id uuid NOT NULL,
    provider_id text NOT NULL,
    -- What is said; what is not said is as the provider has it.
    setting jsonb NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    updated_by text NOT NULL,
    PRIMARY KEY (tenant_id, provider_id)
);

ALTER TABLE context.provider_setting ENABLE ROW LEVEL SECURITY;

-- They are the tenant's: everybody's to read whose bounds are known, and of keys without bounds to write.
CREATE POLICY tenant ON context.provider_setting
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.provider_setting AS RESTRICTIVE FOR SELECT
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR (SELECT context.knows_bounds(nullif(current_setting('app.bounds', true), '')::jsonb)), false) IS NOT NULL);
CREATE POLICY bounds_of_insert ON context.provider_setting AS RESTRICTIVE FOR INSERT
    WITH CHECK (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
CREATE POLICY bounds_of_update ON context.provider_setting AS RESTRICTIVE FOR UPDATE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
CREATE POLICY bounds_of_delete ON context.provider_setting AS RESTRICTIVE FOR DELETE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.provider_setting TO :"service_role";
