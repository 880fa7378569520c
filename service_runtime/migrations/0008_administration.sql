-- What administrators do over gRPC: keys are listed, and calls that change what holds for a tenant are kept, beside the lines of the log.

-- A call that needs the scope `admin` and changes something, or tried to. The services add to it by a function and change nothing of it.
CREATE TABLE access.administrative_call (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL, -- in the order of their ends
    call_id text NOT NULL,
    called_at timestamptz NOT NULL DEFAULT now(),
    method text NOT NULL,
    scope text NOT NULL,
    status text NOT NULL,
    reason text NOT NULL,
    subject text NOT NULL,
    user_id text NOT NULL,
    agent_id text NOT NULL,
    peer text NOT NULL,
    -- Of request and answer, by the paths of their fields.
    ids jsonb NOT NULL,
    -- What the caller was bound to.
    bounds text NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX administrative_call_id ON access.administrative_call (tenant_id, call_id);

ALTER TABLE access.administrative_call ENABLE ROW LEVEL SECURITY;

-- Whoever is bound sees the calls of those that are bound to the same: others name what is outside.
CREATE POLICY tenant ON access.administrative_call
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON access.administrative_call AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR bounds = (SELECT current_setting('app.bounds', true)), false) IS NOT NULL);

GRANT SELECT ON access.administrative_call TO :"service_role";

-- Keep a call of the tenant and the bounds of the transaction. Those that are older than 400 days go as others come.
CREATE FUNCTION access.keep_call(
    new_id uuid, call_id text, method text, scope text, status text, reason text, subject text, user_id text, agent_id text,
    peer text, ids jsonb
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    of_tenant CONSTANT uuid := nullif(current_setting('app.tenant', true), '')::uuid;
BEGIN
    DELETE FROM access.administrative_call c WHERE c.tenant_id = of_tenant AND c.id IN (
        SELECT o.id FROM access.administrative_call o
        WHERE o.tenant_id = of_tenant AND o.called_at < now() - interval '400 days'
        ORDER BY o.id LIMIT 10 FOR UPDATE SKIP LOCKED
    );
    INSERT INTO access.administrative_call (
        tenant_id, id, call_id, method, scope, status, reason, subject, user_id, agent_id, peer, ids, bounds
    )
    VALUES (of_tenant, new_id, call_id, method, scope, status, reason, subject, user_id, agent_id, peer, ids,
        coalesce(current_setting('app.bounds', true), ''));
END
$$;

-- The keys of the tenant that are within the bounds of the transaction, the newest first, without what finds them: those that
-- operators and administrators made, or those of one context.
CREATE FUNCTION access.list_keys(of_context_id uuid, before_id uuid, rows_max integer) RETURNS TABLE (
    id uuid, prefix text, subject text, scopes text[], user_id text, agent_id text, app_ids text[], agent_bundle_id text,
    graph_names text[], context_id uuid, made_by text, created_at timestamptz, expires_at timestamptz, revoked_at timestamptz,
    last_used_at timestamptz
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    of_tenant CONSTANT uuid := nullif(current_setting('app.tenant', true), '')::uuid;
    bounds CONSTANT jsonb := coalesce(nullif(current_setting('app.bounds', true), ''), '{}')::jsonb;
    apps text[];
    bundle text;
    graphs text[];
BEGIN
    IF bounds - '{app_ids,agent_bundle_id,graph_names}'::text[] <> '{}' THEN
        RETURN;
    END IF;
    apps := ARRAY(SELECT jsonb_array_elements_text(coalesce(bounds -> 'app_ids', '[]')));
    bundle := coalesce(bounds ->> 'agent_bundle_id', '');
    graphs := ARRAY(SELECT jsonb_array_elements_text(coalesce(bounds -> 'graph_names', '[]')));
    RETURN QUERY
    SELECT k.id, k.prefix, k.subject, k.scopes, k.user_id, k.agent_id, k.app_ids, k.agent_bundle_id, k.graph_names,
        k.context_id, coalesce(p.prefix, ''), k.created_at, k.expires_at, k.revoked_at, k.last_used_at
    FROM (
        SELECT a.id, a.prefix, a.subject, a.scopes, a.user_id, a.agent_id, a.app_ids, a.agent_bundle_id, a.graph_names,
            NULL::uuid AS context_id, a.parent_id, a.created_at, a.expires_at, a.revoked_at, a.last_used_at
        FROM access.api_key a
        WHERE of_context_id IS NULL AND a.tenant_id = of_tenant
        UNION ALL
        SELECT c.id, c.prefix, c.subject, c.scopes, c.user_id, c.agent_id, c.app_ids, c.agent_bundle_id, c.graph_names,
            c.context_id, c.parent_id, c.created_at, c.expires_at, c.revoked_at, NULL
        FROM access.context_key c
        WHERE c.tenant_id = of_tenant AND c.context_id = of_context_id
    ) k LEFT JOIN access.api_key p ON p.id = k.parent_id
    WHERE (before_id IS NULL OR k.id < before_id)
        AND (apps = '{}' OR (k.app_ids <> '{}' AND k.app_ids <@ apps))
        AND bundle IN ('', k.agent_bundle_id)
        AND (graphs = '{}' OR (k.graph_names <> '{}' AND k.graph_names <@ graphs))
    ORDER BY k.id DESC LIMIT rows_max;
END
$$;

REVOKE ALL ON FUNCTION access.keep_call, access.list_keys FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.keep_call, access.list_keys TO :"service_role";
