-- What policies are told of a statement beside its tenant: which context it is about (`app.context`: an id), and for whom it
-- is (`app.subject`: '=' and the id of a user; '=' alone for a caller without one). Both hold for the transaction. '*' says
-- all of them, and only statements that are named do (`Across` in service_runtime/postgres.py). Where one is not set, or reads
-- '' because it was and is gone, these functions say nothing, and a policy that asks them lets no row through.
--
-- A table whose rows are a context's, with `context_id uuid`, and one whose rows are a user's, with `owner_user_id text` ('' is
-- nobody's, and seen by all), have these beside the policy of the tenant:
--
-- CREATE POLICY context ON … AS RESTRICTIVE
--     USING (nullif((SELECT access.sees_all_contexts()) OR context_id = (SELECT access.context_seen()), false) IS NOT NULL);
-- CREATE POLICY subject ON … AS RESTRICTIVE
--     USING (nullif((SELECT access.sees_all_subjects())
--         OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);
--
-- Keys may be bound to a context, too, and to those below it: that is the policy `bounds`, as of other tables, with
-- `access.context_in_bounds` over the row's `ancestors uuid[]`, itself included.

CREATE FUNCTION access.sees_all_contexts() RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE RETURN coalesce(current_setting('app.context', true) = '*', false);

CREATE FUNCTION access.context_seen() RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN NOT access.sees_all_contexts() THEN nullif(current_setting('app.context', true), '')::uuid END;

CREATE FUNCTION access.sees_all_subjects() RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE RETURN coalesce(current_setting('app.subject', true) = '*', false);

CREATE FUNCTION access.owners_seen() RETURNS text[]
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
    WHEN starts_with(current_setting('app.subject', true), '=')
    THEN ARRAY['', substr(current_setting('app.subject', true), 2)]
END;

-- Bounds of a context's rows: the context or one above it, an agent bundle, apps. A context is in no graph: a key of a graph
-- sees none.
CREATE FUNCTION access.context_in_bounds(ancestors uuid[], agent_bundle_id text, app_id text) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    bounds jsonb := current_setting('app.bounds')::jsonb;
BEGIN
    RETURN bounds - '{context_id,agent_bundle_id,app_ids}'::text[] = '{}'
        AND coalesce((bounds ->> 'context_id')::uuid = ANY (ancestors), NOT bounds ? 'context_id')
        AND coalesce(bounds ->> 'agent_bundle_id' = agent_bundle_id, NOT bounds ? 'agent_bundle_id')
        AND coalesce((bounds -> 'app_ids') ? app_id, NOT bounds ? 'app_ids');
END
$$;
