-- Refused calls of administrators are sampled: a row may stand for several.

ALTER TABLE access.administrative_call ADD COLUMN count integer NOT NULL DEFAULT 1;

-- As before, with how many calls the row stands for. An older release does not say it.
DROP FUNCTION access.keep_call;
CREATE FUNCTION access.keep_call(
    new_id uuid, call_id text, method text, scope text, status text, reason text, subject text, user_id text, agent_id text,
    peer text, ids jsonb, count integer DEFAULT 1
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
        tenant_id, id, call_id, method, scope, status, reason, subject, user_id, agent_id, peer, ids, count, bounds
    )
    VALUES (of_tenant, new_id, call_id, method, scope, status, reason, subject, user_id, agent_id, peer, ids, count,
        coalesce(current_setting('app.bounds', true), ''));
END
$$;

REVOKE ALL ON FUNCTION access.keep_call FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.keep_call TO :"service_role";
