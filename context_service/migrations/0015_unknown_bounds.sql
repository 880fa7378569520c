-- Bounds fail closed: one that is not known here hides every row, as one does that is known and cannot be read. Before this,
-- what these functions had never heard of bound nothing. A key of a context is bound so.

CREATE FUNCTION context.knows_bounds(bounds jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN bounds - '{graph_names,agent_bundle_id,app_ids}'::text[] = '{}';

CREATE OR REPLACE FUNCTION context.in_bounds(graph_name text, agent_bundle_id text, app_id text) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    bounds jsonb := current_setting('app.bounds')::jsonb;
BEGIN
    RETURN context.knows_bounds(bounds)
        AND coalesce((bounds -> 'graph_names') ? graph_name, NOT bounds ? 'graph_names')
        AND coalesce(bounds ->> 'agent_bundle_id' = agent_bundle_id, NOT bounds ? 'agent_bundle_id')
        AND coalesce((bounds -> 'app_ids') ? app_id, NOT bounds ? 'app_ids');
END
$$;

CREATE OR REPLACE FUNCTION context.app_in_bounds(app_id text) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    bounds jsonb := current_setting('app.bounds')::jsonb;
BEGIN
    RETURN context.knows_bounds(bounds) AND coalesce((bounds -> 'app_ids') ? app_id, NOT bounds ? 'app_ids');
END
$$;

-- The shared scope is everybody's to read whose bounds are known.
ALTER POLICY bounds ON context.mapping
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR (app_id = '' AND (SELECT context.knows_bounds(nullif(current_setting('app.bounds', true), '')::jsonb)))
        OR context.app_in_bounds(app_id), false) IS NOT NULL);

-- What is the tenant's is seen with all bounds that are known.
CREATE POLICY bounds ON context.blob AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR (SELECT context.knows_bounds(nullif(current_setting('app.bounds', true), '')::jsonb)), false) IS NOT NULL);
CREATE POLICY bounds ON context.outbox AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR (SELECT context.knows_bounds(nullif(current_setting('app.bounds', true), '')::jsonb)), false) IS NOT NULL);
CREATE POLICY bounds ON context.tenant_limit AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR (SELECT context.knows_bounds(nullif(current_setting('app.bounds', true), '')::jsonb)), false) IS NOT NULL);
CREATE POLICY bounds ON context.tenant_usage AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR (SELECT context.knows_bounds(nullif(current_setting('app.bounds', true), '')::jsonb)), false) IS NOT NULL);
