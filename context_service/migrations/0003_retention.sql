-- Archived and expired records by memory type and time, for the sweeper: each type has its own retention. Nothing else
-- read the index by the end alone.

CREATE INDEX wm_record_archived ON context.wm_record (tenant_id, memory_type, least(archived_at, expires_at))
    WHERE least(archived_at, expires_at) IS NOT NULL;
DROP INDEX context.wm_record_expiry;
