-- Rows are numbered by their tenant: see migration 0014 of `access`.

-- A tenant that has rows goes on with higher numbers than any that is there: where the sequences that all tenants shared have come to.
DO $$
DECLARE
    of_table text;
    reached bigint;
    drawn bigint := 0;
    of_tenant uuid;
BEGIN
    FOREACH of_table IN ARRAY ARRAY['action', 'facet', 'knowledge_document', 'memory', 'wiki_page_version', 'wm_record'] LOOP
        EXECUTE format('LOCK TABLE context.%I', of_table);  -- nobody draws a number meanwhile
        EXECUTE format('SELECT last_value FROM %s', pg_get_serial_sequence('context.' || of_table, 'seq')) INTO reached;
        drawn := greatest(drawn, reached);
    END LOOP;
    FOREACH of_table IN ARRAY ARRAY['action', 'facet', 'knowledge_document', 'memory', 'wiki_page_version', 'wm_record'] LOOP
        LOOP  -- from tenant to tenant, by the primary key
            EXECUTE format(
                'SELECT t.tenant_id FROM context.%I t WHERE t.tenant_id > $1 OR $1 IS NULL ORDER BY t.tenant_id LIMIT 1', of_table
            ) INTO of_tenant USING of_tenant;
            EXIT WHEN of_tenant IS NULL;
            PERFORM access.number_behind(of_tenant, drawn);
        END LOOP;
        EXECUTE format('ALTER TABLE context.%I ALTER COLUMN seq DROP IDENTITY', of_table);
        EXECUTE format(
            'CREATE TRIGGER numbered BEFORE INSERT ON context.%I FOR EACH ROW WHEN (NEW.seq IS NULL)'
            ' EXECUTE FUNCTION access.number_row()', of_table
        );
    END LOOP;
END
$$;

-- Let the tenant's next rows get higher numbers than those that an import brought. An import keeps numbers up to 2^48: the tenant's own
-- numbers stay far below what imports accept, whatever an archive says.
CREATE OR REPLACE FUNCTION context.number_behind(of_table text, seq bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF of_table NOT IN ('action', 'knowledge_document', 'memory', 'wiki_page_version', 'wm_record') OR seq > 281474976710656 THEN
        RAISE EXCEPTION 'no number of that table' USING ERRCODE = 'numeric_value_out_of_range';
    END IF;
    PERFORM access.number_behind(nullif(current_setting('app.tenant', true), '')::uuid, seq);
END
$$;
