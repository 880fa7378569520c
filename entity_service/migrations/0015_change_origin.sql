-- Transaction ids mean nothing in another cluster, and changes that a restored database lost are not in its list. So a feed says where it was
-- started, its places say so too, and a feed that finds itself elsewhere starts again: see `change_feed.py`.

-- The cluster, its timeline (a restore to a point in time and a failover begin a new one), the database, and the table: `pg_restore` makes both
-- of them new. A provider that lets nobody read the cluster's identifier leaves the last three.
CREATE FUNCTION entity.change_origin() RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    cluster text := '';
BEGIN
    BEGIN
        SELECT s.system_identifier::text INTO cluster FROM pg_control_system() s;
    EXCEPTION WHEN insufficient_privilege OR undefined_function THEN
        NULL;
    END;
    RETURN left(md5(concat_ws('/',
        cluster,
        left(pg_walfile_name(pg_current_wal_insert_lsn()), 8),
        (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()),
        'entity.change'::regclass::oid
    )), 16);
END
$$;

ALTER TABLE entity.change_feed ADD COLUMN origin text NOT NULL DEFAULT entity.change_origin();
