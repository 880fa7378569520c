-- Statistics of tables that are new, before autovacuum comes by, which takes up to two minutes. Until then Postgres takes an
-- index of all that a tenant has to be as good as the primary key for one row of it. A connection plans the checks of
-- foreign keys when the first few rows are written and goes by that plan while thousands are: each edge read all nodes.
-- Returns whether there are statistics now: of fewer rows they would say that a table is best read from end to end.
CREATE FUNCTION entity.analyze_new_tables() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    few CONSTANT integer := 1000;
BEGIN
    IF (SELECT c.reltuples FROM pg_class c WHERE c.oid = 'entity.node'::regclass) >= few THEN
        RETURN true;
    END IF;
    IF (SELECT count(*) FROM (SELECT FROM entity.node LIMIT few) n) < few THEN
        RETURN false;
    END IF;
    ANALYZE entity.node, entity.edge;
    RETURN true;
END
$$;
REVOKE ALL ON FUNCTION entity.analyze_new_tables FROM PUBLIC;
GRANT EXECUTE ON FUNCTION entity.analyze_new_tables TO :"service_role";
