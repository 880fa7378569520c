-- What a caller is told of its own key. The services' role cannot read the table of keys of contexts.
CREATE FUNCTION access.key_of_caller(key_id uuid) RETURNS TABLE (tenant text, prefix text, expires_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT coalesce(t.name, ''), coalesce(k.prefix, c.prefix, ''), coalesce(k.expires_at, c.expires_at)
    FROM (SELECT nullif(current_setting('app.tenant', true), '')::uuid AS tenant_id) asking
    LEFT JOIN access.tenant t ON t.id = asking.tenant_id
    LEFT JOIN access.api_key k ON k.id = key_of_caller.key_id AND k.tenant_id = asking.tenant_id
    LEFT JOIN access.context_key c ON c.id = key_of_caller.key_id AND c.tenant_id = asking.tenant_id;
END;
REVOKE ALL ON FUNCTION access.key_of_caller FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.key_of_caller TO contextkeep_service;
