-- A record that is purged takes along what contexts found of it. By a function of the owner, and not by a foreign key that sets null: whoever
-- purges need not see the contexts, and where a database is spread over several, such a key cannot be.

ALTER TABLE context.message_record DROP CONSTRAINT message_record_tenant_id_record_id_fkey;

CREATE FUNCTION context.let_go_of_records(record_ids uuid[]) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH gone AS (
        UPDATE context.message_record r SET record_id = NULL, due_at = now()
        WHERE r.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND r.record_id = ANY (record_ids)
            AND NOT EXISTS (SELECT FROM context.wm_record w WHERE w.tenant_id = r.tenant_id AND w.id = r.record_id)
        RETURNING true
    )
    SELECT count(*) FROM gone;
END;
REVOKE ALL ON FUNCTION context.let_go_of_records FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context.let_go_of_records TO :"service_role";
