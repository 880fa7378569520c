-- What a key is bound to: graphs, an agent bundle, apps. The service sets `app.bounds` beside `app.tenant`, for the transaction:
-- JSON with what the key is bound to and nothing else. Where it is not set, or reads '' because it was and is gone, nothing
-- is bound: it is asked once a statement, and the functions are not called. Blobs, the outbox, limits and usage are the
-- tenant's: nobody names a blob but by a record.

CREATE FUNCTION context.in_bounds(graph_name text, agent_bundle_id text, app_id text) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    bounds jsonb := current_setting('app.bounds')::jsonb;
BEGIN
    RETURN coalesce((bounds -> 'graph_names') ? graph_name, true)
        AND coalesce(bounds ->> 'agent_bundle_id' = agent_bundle_id, true)
        AND coalesce((bounds -> 'app_ids') ? app_id, true);
END
$$;

CREATE FUNCTION context.app_in_bounds(app_id text) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN coalesce((current_setting('app.bounds')::jsonb -> 'app_ids') ? app_id, true);
END
$$;

-- Below the policies of whoever asks.
CREATE FUNCTION context.sees_record(record_id uuid) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM context.wm_record r
        WHERE r.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND r.id = record_id
    );
END
$$;

CREATE FUNCTION context.sees_upload(upload_id uuid) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM context.upload u
        WHERE u.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND u.id = upload_id
    );
END
$$;

-- Restrictive: beside the tenant, not instead of it. `nullif … IS NOT NULL` is `is true`, in words of which the planner
-- believes that nearly all rows pass: nobody's plan changes because somebody's keys are bound.
CREATE POLICY bounds ON context.wm_record AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.in_bounds(graph_name, agent_bundle_id, app_id), false) IS NOT NULL);
CREATE POLICY bounds ON context.embedding AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.in_bounds(graph_name, agent_bundle_id, app_id), false) IS NOT NULL);
CREATE POLICY bounds ON context.upload AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.in_bounds(coalesce(nullif(record ->> 'graph_name', ''), 'default'), record ->> 'agent_bundle_id',
            record ->> 'app_id'), false) IS NOT NULL);
CREATE POLICY bounds ON context.upload_part AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.sees_upload(upload_id), false) IS NOT NULL);

-- The shared scope is everybody's to read, and of keys without apps to write.
CREATE POLICY bounds ON context.mapping AS RESTRICTIVE FOR SELECT
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR app_id = '' OR context.app_in_bounds(app_id), false) IS NOT NULL);
CREATE POLICY bounds_of_insert ON context.mapping AS RESTRICTIVE FOR INSERT
    WITH CHECK (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.app_in_bounds(app_id), false) IS NOT NULL);
CREATE POLICY bounds_of_update ON context.mapping AS RESTRICTIVE FOR UPDATE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.app_in_bounds(app_id), false) IS NOT NULL);
CREATE POLICY bounds_of_delete ON context.mapping AS RESTRICTIVE FOR DELETE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.app_in_bounds(app_id), false) IS NOT NULL);

-- A log is its record's, and written by the statement that changes the record. Of a record that is gone, the end is told
-- to those who are bound as its end's author was: a purge that is repeated is one that was done.
ALTER TABLE context.action ADD COLUMN bounds text NOT NULL DEFAULT coalesce(current_setting('app.bounds', true), '');
CREATE POLICY bounds ON context.action AS RESTRICTIVE FOR SELECT
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.sees_record(record_id)
        OR (kind = 'purged' AND bounds = current_setting('app.bounds', true)), false) IS NOT NULL);

-- Whose answer it is: a key's with other bounds gets none.
ALTER TABLE context.request ADD COLUMN bounds text NOT NULL DEFAULT coalesce(current_setting('app.bounds', true), '');
CREATE POLICY bounds ON context.request AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR bounds = (SELECT current_setting('app.bounds', true)), false) IS NOT NULL);

CREATE OR REPLACE VIEW context.wm_record_of_tenant AS
SELECT tenant_id, id, entity_node_id, blob_id, context_id, created_at, updated_at, expires_at, archived_at, seq, size_bytes,
    version, blob_key, provider, sha256, memory_type, subtype, semantic_purpose, name, description, reasoning, content_type,
    graph_name, agent_bundle_id, app_id, created_by, owner_user_id, agent_id, index_state, index_error, tags, metadata,
    content, search, name_search
FROM context.wm_record
WHERE tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid)
    AND nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.in_bounds(graph_name, agent_bundle_id, app_id), false) IS NOT NULL;

CREATE OR REPLACE VIEW context.embedding_of_tenant AS
SELECT tenant_id, owner_kind, owner_id, name, context_id, created_at, dimension, model, text_sha256, vector, entity_node_id,
    hidden_at, memory_type, graph_name, agent_bundle_id, app_id
FROM context.embedding
WHERE tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid)
    AND nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.in_bounds(graph_name, agent_bundle_id, app_id), false) IS NOT NULL;
