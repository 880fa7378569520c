-- Each tenant has a sequence of its own, from which all its numbered rows draw: `seq` says nothing about what other tenants write, and no
-- import or move of one tenant changes the numbers of another. A counter in a row would let the writers of a tenant wait for each other's
-- commits; a sequence does not.

-- Return the sequence of a tenant, and make it with the tenant's first numbered row. Whoever comes meanwhile waits for that transaction.
CREATE FUNCTION access.numbers_of(of_tenant uuid) RETURNS regclass
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    name CONSTANT text := 'numbers_' || replace(of_tenant::text, '-', '');
    numbers regclass := to_regclass('access.' || name);
BEGIN
    IF numbers IS NULL THEN
        PERFORM pg_advisory_xact_lock(1634493816, uuid_hash(of_tenant));
        -- At most 2^53 - 1: a whole number of any client.
        EXECUTE format('CREATE SEQUENCE IF NOT EXISTS access.%I MAXVALUE 9007199254740991', name);
        numbers := to_regclass('access.' || name);
    END IF;
    RETURN numbers;
END
$$;

-- Number a row that brings no number. As the services' role, and without settings of its own: it runs for each row.
CREATE FUNCTION access.number_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.seq := nextval(coalesce(
        to_regclass('access.numbers_' || replace(NEW.tenant_id::text, '-', '')), access.numbers_of(NEW.tenant_id)
    ));
    RETURN NEW;
END
$$;
ALTER DEFAULT PRIVILEGES IN SCHEMA access GRANT USAGE ON SEQUENCES TO :"service_role";

-- Let the next rows of a tenant get higher numbers than `seq`. The step is wider than what the tenant draws between the look and the leap,
-- so that numbers never go back.
CREATE FUNCTION access.number_behind(of_tenant uuid, seq bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    numbers CONSTANT regclass := access.numbers_of(of_tenant);
    reached bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(1634493816, uuid_hash(of_tenant));
    EXECUTE format('SELECT last_value FROM %s', numbers) INTO reached;
    IF reached < seq THEN
        PERFORM setval(numbers, seq + 10000);
    END IF;
END
$$;

REVOKE ALL ON FUNCTION access.numbers_of, access.number_row, access.number_behind FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.numbers_of TO :"service_role";
