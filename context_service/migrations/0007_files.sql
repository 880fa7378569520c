-- Files of messages are records of their context: a caller sees them only with the context.

-- Whether the caller sees a context: the policies of its table apply. Rows of files name their context, and a deleted or
-- expired context hides its files at once.
CREATE FUNCTION context.sees_context(of_context uuid) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM context.context c
        WHERE c.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND c.context_id = of_context
            AND c.deleted_at IS NULL AND (c.expires_at IS NULL OR c.expires_at > now())
    );
END
$$;

-- Background work names no user, or sees all users. It sees the files of all contexts of the tenant, as it sees all other
-- records; it removes the files of deleted contexts.
CREATE POLICY file ON context.wm_record AS RESTRICTIVE
    USING (nullif(
        context_id IS NULL OR (SELECT coalesce(current_setting('app.subject', true), '') IN ('', '*'))
            OR context.sees_context(context_id),
        false
    ) IS NOT NULL);

-- A key of a context has no record but the files of its contexts.
DROP POLICY bounds ON context.wm_record;
CREATE POLICY bounds ON context.wm_record AS RESTRICTIVE
    USING (nullif(
        (SELECT coalesce(current_setting('app.bounds', true), '') = '')
            OR CASE
                WHEN context_id IS NULL THEN context.in_bounds(graph_name, agent_bundle_id, app_id)
                ELSE context.sees_context(context_id)
            END,
        false
    ) IS NOT NULL);

-- Searches and lists of records have no files of contexts.
DROP VIEW context.wm_record_of_tenant;
SELECT access.policy_view('context.wm_record_of_tenant', $$
    SELECT tenant_id, id, entity_node_id, blob_id, context_id, created_at, updated_at, expires_at, archived_at, seq, size_bytes,
        version, blob_key, provider, sha256, memory_type, subtype, semantic_purpose, name, description, reasoning, content_type,
        graph_name, agent_bundle_id, app_id, created_by, owner_user_id, agent_id, index_state, index_error, tags, metadata,
        content, search, name_search, is_visible
    FROM (
        SELECT tenant_id, id, entity_node_id, blob_id, context_id, created_at, updated_at, expires_at, archived_at, seq,
            size_bytes, version, blob_key, provider, sha256, memory_type, subtype, semantic_purpose, name, description,
            reasoning, content_type, graph_name, agent_bundle_id, app_id, created_by, owner_user_id, agent_id, index_state,
            index_error, tags, metadata, content, search, name_search,
            {tenant} AND {bounds:graph} AND context_id IS NULL AS is_visible
        FROM context.wm_record
    ) r
    WHERE is_visible
$$);
GRANT SELECT ON context.wm_record_of_tenant TO :"service_role";

-- Rows that a message with a file writes or reads: keys of contexts may write them, too.
DO $$
DECLARE
    of_table regclass;
BEGIN
    FOREACH of_table IN ARRAY ARRAY['context.blob', 'context.tenant_limit', 'context.tenant_usage']::regclass[] LOOP
        EXECUTE format('DROP POLICY bounds ON %s', of_table);
        EXECUTE format($policy$
            CREATE POLICY bounds ON %s AS RESTRICTIVE USING (nullif(
                (SELECT coalesce(current_setting('app.bounds', true), '') = '')
                    OR (SELECT context.knows_bounds(nullif(current_setting('app.bounds', true), '')::jsonb - 'context_id')),
                false
            ) IS NOT NULL)
        $policy$, of_table);
    END LOOP;
END
$$;

-- Whether a record of the tenant needs a blob, seen by the caller or not: a caller that purges a record must not take the
-- bytes from a file of a context, or from a record that is outside of the bounds of its key.
CREATE FUNCTION context.has_records(of_blob uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
RETURN EXISTS (
    SELECT FROM context.wm_record r
    WHERE r.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND r.blob_id = of_blob
);
REVOKE ALL ON FUNCTION context.has_records FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context.has_records TO :"service_role";
