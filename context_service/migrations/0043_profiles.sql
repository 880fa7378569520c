-- Profiles of compression that tenants register: each content is a version, which stays. Which one a name stands for is on the name.

CREATE TABLE context.window_profile (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    -- That was put last; 0: none yet.
    version integer NOT NULL DEFAULT 0,
    version_count integer NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, name)
);

CREATE TABLE context.window_profile_version (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    version integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    sha256 bytea NOT NULL,
    created_by text NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (tenant_id, name, version)
);
CREATE UNIQUE INDEX window_profile_content ON context.window_profile_version (tenant_id, name, sha256);

ALTER TABLE context.window_profile ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.window_profile_version ENABLE ROW LEVEL SECURITY;

-- They are the tenant's: everybody's to read whose bounds are known, and of keys without bounds to write.
CREATE POLICY tenant ON context.window_profile
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.window_profile AS RESTRICTIVE FOR SELECT
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR (SELECT context.knows_bounds(nullif(current_setting('app.bounds', true), '')::jsonb)), false) IS NOT NULL);
CREATE POLICY bounds_of_insert ON context.window_profile AS RESTRICTIVE FOR INSERT
    WITH CHECK (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
CREATE POLICY bounds_of_update ON context.window_profile AS RESTRICTIVE FOR UPDATE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
CREATE POLICY bounds_of_delete ON context.window_profile AS RESTRICTIVE FOR DELETE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);

CREATE POLICY tenant ON context.window_profile_version
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.window_profile_version AS RESTRICTIVE FOR SELECT
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR (SELECT context.knows_bounds(nullif(current_setting('app.bounds', true), '')::jsonb)), false) IS NOT NULL);
CREATE POLICY bounds_of_insert ON context.window_profile_version AS RESTRICTIVE FOR INSERT
    WITH CHECK (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
CREATE POLICY bounds_of_update ON context.window_profile_version AS RESTRICTIVE FOR UPDATE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
CREATE POLICY bounds_of_delete ON context.window_profile_version AS RESTRICTIVE FOR DELETE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.window_profile, context.window_profile_version TO :"service_role";
