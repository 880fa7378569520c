-- What operators do for all tenants goes over all databases.

-- Whether a tenant lives in this database; one that is leaving still does. Who has no row does at home, and nowhere else.
CREATE FUNCTION access.lives_here(of_tenant uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT coalesce(
        (SELECT r.state IN ('HERE', 'LEAVING') FROM access.residence r WHERE r.tenant_id = of_tenant),
        NOT EXISTS (SELECT FROM access.this_database)
    )
$$;

REVOKE ALL ON FUNCTION access.lives_here FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.lives_here TO :"service_role";

-- As before, and asks `lives_here`.
CREATE OR REPLACE FUNCTION access.enter(of_tenant uuid) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    does_live_here boolean;
    leaves_at timestamptz;
BEGIN
    -- Both in one statement: between two the tenant may be gone.
    SELECT access.lives_here(of_tenant), r.until INTO does_live_here, leaves_at
    FROM (VALUES (of_tenant)) asked (tenant_id) LEFT JOIN access.residence r USING (tenant_id);
    IF does_live_here AND leaves_at IS NULL THEN
        RETURN of_tenant::text;
    ELSIF does_live_here AND (leaves_at > clock_timestamp() OR current_setting('transaction_read_only') = 'on') THEN
        PERFORM set_config('transaction_read_only', 'on', true);
        RETURN of_tenant::text;
    ELSIF does_live_here AND access.stay(of_tenant) THEN
        RETURN of_tenant::text;
    END IF;
    RAISE SQLSTATE 'CK001' USING MESSAGE = 'the tenant does not live in this database';
END
$$;

-- Refuse whoever is no operator: at home, whoever is no key of the transaction's tenant that lives and has the scope `operator`. A
-- database that is not the home has no keys: there a transaction says for which key it is, as it says its tenant, once the home has been
-- asked (`Database.operating`). One that does not say so is refused.
CREATE OR REPLACE FUNCTION access.check_operator(asking_id uuid) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking access.api_key;
BEGIN
    IF EXISTS (SELECT FROM access.this_database) THEN
        IF coalesce(current_setting('app.operator', true) = asking_id::text, false) THEN
            RETURN;
        END IF;
        RAISE insufficient_privilege USING MESSAGE = 'key refused';
    END IF;
    asking := access.asking_key(asking_id);
    IF NOT 'operator' = ANY (asking.scopes) THEN
        RAISE insufficient_privilege USING MESSAGE = 'key refused';
    END IF;
END
$$;
