-- Tenants over many databases. The home database has the keys, all tenants and where each of them lives; every other one has the same
-- schemas, and the rows of those who live there. A tenant lives in one database.

-- Where a tenant lives: the name of another database, as DATABASE_URLS has it. Null: here, in the home database. The services
-- remember it for seconds; what they remember may be old, so each database says for itself who lives there.
ALTER TABLE access.tenant ADD COLUMN database text CHECK (database <> '');
CREATE INDEX tenant_elsewhere ON access.tenant (database) WHERE database IS NOT NULL;

-- The name of a database that is not the home. It has one row, or none at home.
CREATE TABLE access.this_database (
    name text PRIMARY KEY CHECK (name <> ''),
    is_this boolean NOT NULL DEFAULT true UNIQUE CHECK (is_this)
);

-- Who lives in this database. Who has no row does at home, and nowhere else.
CREATE TABLE access.residence (
    tenant_id uuid PRIMARY KEY,
    -- LEAVING: whoever comes may read, and not write, until `until`. Then the tenant stays: whoever moved it is gone.
    -- ARRIVING, GONE: nobody comes in.
    state text NOT NULL CHECK (state IN ('ARRIVING', 'HERE', 'LEAVING', 'GONE')),
    until timestamptz CHECK ((until IS NOT NULL) = (state = 'LEAVING')),
    changed_at timestamptz NOT NULL DEFAULT now()
);

INSERT INTO access.residence (tenant_id, state) SELECT id, 'HERE' FROM access.tenant;

GRANT SELECT ON access.this_database, access.residence TO :"service_role";

-- Let a tenant stay who was to leave, if whoever moves it has not been heard of in time. Whether it lives here now.
CREATE FUNCTION access.stay(of_tenant uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- Whoever moves it locks the same row to say GONE: one of both is first, and the other one sees it.
    UPDATE access.residence r SET state = 'HERE', until = NULL, changed_at = now()
    WHERE r.tenant_id = of_tenant AND r.state = 'LEAVING' AND r.until < clock_timestamp();
    RETURN EXISTS (SELECT FROM access.residence r WHERE r.tenant_id = of_tenant AND r.state = 'HERE');
END
$$;

-- Return a tenant who may come in without being HERE, or refuse it: it does not live in this database. Who is HERE needs no function:
-- `service_runtime/postgres/tenant.py` looks for that itself, in the statement that begins each transaction, and takes a shared
-- advisory lock of the tenant there, so that whoever moves a tenant knows for whom to wait.
CREATE FUNCTION access.enter(of_tenant uuid) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    said_state text;
    said_until timestamptz;
BEGIN
    SELECT r.state, r.until INTO said_state, said_until FROM access.residence r WHERE r.tenant_id = of_tenant;
    IF said_state IS NULL AND NOT EXISTS (SELECT FROM access.this_database) OR said_state = 'HERE' THEN
        RETURN of_tenant::text;
    ELSIF said_state = 'LEAVING' AND (said_until > clock_timestamp() OR current_setting('transaction_read_only') = 'on') THEN
        PERFORM set_config('transaction_read_only', 'on', true);
        RETURN of_tenant::text;
    ELSIF said_state = 'LEAVING' AND access.stay(of_tenant) THEN
        RETURN of_tenant::text;
    END IF;
    RAISE SQLSTATE 'CK001' USING MESSAGE = 'the tenant does not live in this database';
END
$$;

REVOKE ALL ON FUNCTION access.stay, access.enter FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.stay, access.enter TO :"service_role";
