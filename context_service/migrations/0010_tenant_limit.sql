-- What a tenant may store, where that is not what the settings say; and what it does store.

CREATE TABLE context.tenant_limit (
    tenant_id uuid PRIMARY KEY,
    -- Null: what the setting says.
    blob_bytes_max bigint CHECK (blob_bytes_max > 0),
    content_bytes_max bigint CHECK (content_bytes_max > 0),
    bytes_max bigint CHECK (bytes_max >= 0),
    records_max bigint CHECK (records_max >= 0)
);

-- Counted by triggers, in the transaction of what is counted, so that it never differs from the rows. A backend counts
-- in a row of its own, or nearly: one row a tenant would make all its writers wait for each other's commits. A row alone
-- means nothing, and may be negative; their sum is what the tenant has.
CREATE TABLE context.tenant_usage (
    tenant_id uuid NOT NULL,
    shard smallint NOT NULL,
    records bigint NOT NULL,
    size_bytes bigint NOT NULL,
    PRIMARY KEY (tenant_id, shard)
) WITH (fillfactor = 50);

-- Its argument: what a row counts as a record. In an INSERT there is no OLD, in a DELETE no NEW, and their fields are null.
CREATE FUNCTION context.count_usage() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO context.tenant_usage AS u (tenant_id, shard, records, size_bytes)
    VALUES (
        coalesce(NEW.tenant_id, OLD.tenant_id),
        pg_backend_pid() % 64,
        TG_ARGV[0]::integer * ((TG_OP = 'INSERT')::integer - (TG_OP = 'DELETE')::integer),
        coalesce(NEW.size_bytes, 0) - coalesce(OLD.size_bytes, 0)
    )
    ON CONFLICT (tenant_id, shard) DO UPDATE
        SET records = u.records + excluded.records, size_bytes = u.size_bytes + excluded.size_bytes;
    RETURN NULL;
END
$$;
CREATE TRIGGER count_record AFTER INSERT OR DELETE ON context.wm_record
    FOR EACH ROW EXECUTE FUNCTION context.count_usage(1);
CREATE TRIGGER count_change AFTER UPDATE ON context.wm_record
    FOR EACH ROW WHEN (OLD.size_bytes <> NEW.size_bytes) EXECUTE FUNCTION context.count_usage(1);
CREATE TRIGGER count_part AFTER INSERT OR DELETE ON context.upload_part
    FOR EACH ROW EXECUTE FUNCTION context.count_usage(0);

-- Behind the triggers, which keep writers out until this is committed.
INSERT INTO context.tenant_usage (tenant_id, shard, records, size_bytes)
SELECT tenant_id, 0, sum(records), sum(size_bytes)
FROM (
    SELECT tenant_id, 1 AS records, size_bytes FROM context.wm_record
    UNION ALL
    SELECT tenant_id, 0, size_bytes FROM context.upload_part
) stored
GROUP BY tenant_id;

ALTER TABLE context.tenant_limit ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.tenant_usage ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON context.tenant_limit
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY tenant ON context.tenant_usage
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
-- Only the owner says what a tenant may.
GRANT SELECT ON context.tenant_limit TO :"service_role";
GRANT SELECT, INSERT, UPDATE ON context.tenant_usage TO :"service_role";
