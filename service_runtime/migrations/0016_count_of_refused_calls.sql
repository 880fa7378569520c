-- How many refused calls a row stands for is written into the first one's row: another row would name, after an erasure,
-- a user who was erased since.

CREATE FUNCTION access.count_refused(first_id uuid, refused integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE access.administrative_call c SET count = c.count + refused
    WHERE c.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND c.id = first_id;
    RETURN FOUND;
END
$$;

REVOKE ALL ON FUNCTION access.count_refused FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.count_refused TO :"service_role";
