-- A tenant has its sequence from the beginning, so that no first write of it waits for another.
CREATE FUNCTION access.number_tenant() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM access.numbers_of(NEW.id);
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION access.number_tenant FROM PUBLIC;
CREATE TRIGGER numbered AFTER INSERT ON access.tenant FOR EACH ROW EXECUTE FUNCTION access.number_tenant();
DO $$ BEGIN PERFORM access.numbers_of(t.id) FROM access.tenant t; END $$;
