-- The scope `operator`: what is done for all tenants. Only the command line gives it, to keys that are bound to nothing.
ALTER TABLE access.api_key
    DROP CONSTRAINT api_key_scopes_check,
    ADD CONSTRAINT api_key_scopes_check CHECK (
        scopes <@ ARRAY['read', 'write', 'admin', 'delegate', 'context:read', 'compile', 'operator'] AND cardinality(scopes) > 0
    ),
    ADD CONSTRAINT api_key_operator_check CHECK (
        NOT 'operator' = ANY (scopes) OR (user_id = '' AND app_ids = '{}' AND agent_bundle_id = '' AND graph_names = '{}')
    );

-- No key gives on the scope `operator`, whatever it has; and it is no part of a key that is to be listed or revoked by another
-- one, unless that one has it, too.
CREATE OR REPLACE FUNCTION access.make_key(
    asking_id uuid, new_id uuid, sha256 bytea, new_prefix text, new_subject text, new_scopes text[], new_user_id text,
    new_agent_id text, new_app_ids text[], new_agent_bundle_id text, new_graph_names text[], new_expires_at timestamptz
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking CONSTANT access.api_key := access.asking_key(asking_id);
    wanted CONSTANT access.reach := ROW(asking.tenant_id, new_scopes, new_user_id, new_app_ids, new_agent_bundle_id,
        new_graph_names, new_expires_at);
BEGIN
    IF 'operator' = ANY (new_scopes)
        OR NOT ('admin' = ANY (asking.scopes) AND access.is_within(wanted, access.reach_of(asking))) THEN
        RAISE insufficient_privilege USING MESSAGE = 'key refused';
    END IF;
    INSERT INTO access.api_key (
        id, key_sha256, prefix, tenant_id, parent_id, subject, scopes, user_id, agent_id, app_ids, agent_bundle_id,
        graph_names, expires_at
    )
    VALUES (new_id, sha256, new_prefix, asking.tenant_id, asking.id, new_subject, new_scopes, new_user_id, new_agent_id,
        new_app_ids, new_agent_bundle_id, new_graph_names, new_expires_at);
END
$$;

-- Refuse whoever is no key of the transaction's tenant that lives and has the scope `operator`.
CREATE FUNCTION access.check_operator(asking_id uuid) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking CONSTANT access.api_key := access.asking_key(asking_id);
BEGIN
    IF NOT 'operator' = ANY (asking.scopes) THEN
        RAISE insufficient_privilege USING MESSAGE = 'key refused';
    END IF;
END
$$;

REVOKE ALL ON FUNCTION access.check_operator FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.check_operator TO :"service_role";
