-- What operators do over gRPC. It is about all tenants, so functions of the owner do it, for keys that live and have the scope
-- `operator`: they see that for themselves, and believe nobody.

-- Work that an operator started, as far as it is: it goes on in the process that took the call.
CREATE TABLE context.job (
    tenant_id uuid NOT NULL, -- of the operator's key
    id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('SWEEP', 'FSCK')),
    state text NOT NULL DEFAULT 'RUNNING' CHECK (state IN ('RUNNING', 'DONE', 'FAILED')),
    started_at timestamptz NOT NULL DEFAULT now(),
    -- When the process said last how far it is; one that says nothing is gone.
    updated_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    started_by text NOT NULL,
    error text NOT NULL DEFAULT '',
    -- What was asked for, and how far it is.
    options jsonb NOT NULL,
    progress jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant_id, id)
);
ALTER TABLE context.job ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON context.job
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.job AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
GRANT SELECT, INSERT, UPDATE, DELETE ON context.job TO :"service_role";

-- Tenants behind an id, in the order of ids: what each stores and may store. Null: what the settings say.
CREATE FUNCTION context.list_tenants(asking_id uuid, behind_id uuid, of_name text, rows_max integer) RETURNS TABLE (
    id uuid, name text, created_at timestamptz, records bigint, size_bytes bigint, records_max bigint, bytes_max bigint,
    blob_bytes_max bigint, content_bytes_max bigint
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM access.check_operator(asking_id);
    RETURN QUERY
    SELECT t.id, t.name, t.created_at, coalesce(u.records, 0), coalesce(u.size_bytes, 0), l.records_max, l.bytes_max,
        l.blob_bytes_max, l.content_bytes_max
    FROM (
        SELECT a.id, a.name, a.created_at FROM access.tenant a
        WHERE (behind_id IS NULL OR a.id > behind_id) AND (of_name IS NULL OR a.name = of_name)
        ORDER BY a.id LIMIT rows_max
    ) t
    LEFT JOIN context.tenant_limit l ON l.tenant_id = t.id
    LEFT JOIN LATERAL (
        SELECT sum(s.records)::bigint AS records, sum(s.size_bytes)::bigint AS size_bytes
        FROM context.tenant_usage s WHERE s.tenant_id = t.id
    ) u ON true
    ORDER BY t.id;
END
$$;

-- Say what a tenant may store: those values whose names are in `changed`, null for what the settings say. Whether there is one.
CREATE FUNCTION context.set_tenant_limits(
    asking_id uuid, of_name text, changed text[], new_records_max bigint, new_bytes_max bigint, new_blob_bytes_max bigint,
    new_content_bytes_max bigint
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM access.check_operator(asking_id);
    INSERT INTO context.tenant_limit AS l (tenant_id, records_max, bytes_max, blob_bytes_max, content_bytes_max)
    SELECT t.id, new_records_max, new_bytes_max, new_blob_bytes_max, new_content_bytes_max
    FROM access.tenant t WHERE t.name = of_name
    ON CONFLICT (tenant_id) DO UPDATE SET
        records_max = CASE WHEN 'records_max' = ANY (changed) THEN excluded.records_max ELSE l.records_max END,
        bytes_max = CASE WHEN 'bytes_max' = ANY (changed) THEN excluded.bytes_max ELSE l.bytes_max END,
        blob_bytes_max = CASE WHEN 'blob_bytes_max' = ANY (changed) THEN excluded.blob_bytes_max ELSE l.blob_bytes_max END,
        content_bytes_max = CASE WHEN 'content_bytes_max' = ANY (changed) THEN excluded.content_bytes_max
            ELSE l.content_bytes_max END;
    RETURN FOUND;
END
$$;

-- What is owed behind calls, of all tenants together: how much, of it what has failed before and is tried again, and since when.
CREATE FUNCTION context.owed_work(asking_id uuid) RETURNS TABLE (
    kind text, owed bigint, failed bigint, oldest_at timestamptz, last_error text
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM access.check_operator(asking_id);
    RETURN QUERY
    SELECT o.topic, count(*), count(*) FILTER (WHERE o.last_error <> ''), min(o.created_at), coalesce(max(o.last_error), '')
    FROM context.outbox o GROUP BY o.topic
    UNION ALL
    SELECT 'records of messages', count(*), count(*) FILTER (WHERE r.attempts > 0), min(r.created_at), coalesce(max(r.detail), '')
    FROM context.message_record r WHERE r.state = 'PENDING' HAVING count(*) > 0
    UNION ALL
    SELECT 'erasures', count(*), 0::bigint, min(e.created_at), '' FROM context.erasure e WHERE e.finished_at IS NULL
    HAVING count(*) > 0
    UNION ALL
    SELECT 'bytes to remove', count(*), 0::bigint, min(b.created_at), '' FROM context.blob b
    WHERE b.state IN ('writing', 'deleting') AND b.due_at < now() HAVING count(*) > 0;
END
$$;

-- Let what has failed of a kind be tried again now, and as often as at first; 10,000 at most. How much it was.
CREATE FUNCTION context.retry_work(asking_id uuid, of_kind text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    retried bigint;
BEGIN
    PERFORM access.check_operator(asking_id);
    IF of_kind = 'records of messages' THEN
        UPDATE context.message_record r SET due_at = now(), attempts = 0
        FROM (
            SELECT f.tenant_id, f.context_id, f.seq, f.part FROM context.message_record f
            WHERE f.state = 'PENDING' AND f.attempts > 0 LIMIT 10000 FOR UPDATE SKIP LOCKED
        ) f
        WHERE (r.tenant_id, r.context_id, r.seq, r.part) = (f.tenant_id, f.context_id, f.seq, f.part);
    ELSE
        UPDATE context.outbox o SET due_at = now(), attempts = 0
        FROM (
            SELECT f.tenant_id, f.id FROM context.outbox f
            WHERE f.topic = of_kind AND f.last_error <> '' LIMIT 10000 FOR UPDATE SKIP LOCKED
        ) f
        WHERE o.tenant_id = f.tenant_id AND o.id = f.id;
    END IF;
    GET DIAGNOSTICS retried = ROW_COUNT;
    RETURN retried;
END
$$;

REVOKE ALL ON FUNCTION context.list_tenants, context.set_tenant_limits, context.owed_work, context.retry_work FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context.list_tenants, context.set_tenant_limits, context.owed_work, context.retry_work
    TO :"service_role";
