-- Rows are numbered by their tenant: see migration 0014 of `access`.

-- A tenant that has rows goes on with higher numbers than any that is there: where the sequences that all tenants shared have come to.
DO $$
DECLARE
    of_table text;
    reached bigint;
    drawn bigint := 0;
    of_tenant uuid;
BEGIN
    FOREACH of_table IN ARRAY ARRAY['change', 'node', 'progress'] LOOP
        EXECUTE format('LOCK TABLE entity.%I', of_table);  -- nobody draws a number meanwhile
        EXECUTE format('SELECT last_value FROM %s', pg_get_serial_sequence('entity.' || of_table, 'seq')) INTO reached;
        drawn := greatest(drawn, reached);
    END LOOP;
    FOREACH of_table IN ARRAY ARRAY['change', 'node', 'progress'] LOOP
        LOOP  -- from tenant to tenant, by the primary key
            EXECUTE format(
                'SELECT t.tenant_id FROM entity.%I t WHERE t.tenant_id > $1 OR $1 IS NULL ORDER BY t.tenant_id LIMIT 1', of_table
            ) INTO of_tenant USING of_tenant;
            EXIT WHEN of_tenant IS NULL;
            PERFORM access.number_behind(of_tenant, drawn);
        END LOOP;
        EXECUTE format('ALTER TABLE entity.%I ALTER COLUMN seq DROP IDENTITY', of_table);
        EXECUTE format(
            'CREATE TRIGGER numbered BEFORE INSERT ON entity.%I FOR EACH ROW WHEN (NEW.seq IS NULL)'
            ' EXECUTE FUNCTION access.number_row()', of_table
        );
    END LOOP;
END
$$;
