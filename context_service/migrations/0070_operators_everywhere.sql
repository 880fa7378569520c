-- What operators do for all tenants goes over all databases (migration 13 of `access`): each one answers for those who live in it.

-- The home database has the list; each database, what they store.
DROP FUNCTION context.list_tenants;

-- What each of some tenants stores and may store, of those who live here. Null: what the settings say.
CREATE FUNCTION context.stored_by(asking_id uuid, of_tenants uuid[]) RETURNS TABLE (
    id uuid, records bigint, size_bytes bigint, records_max bigint, bytes_max bigint, blob_bytes_max bigint,
    content_bytes_max bigint
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM access.check_operator(asking_id);
    RETURN QUERY
    SELECT t.id, coalesce(u.records, 0), coalesce(u.size_bytes, 0), l.records_max, l.bytes_max, l.blob_bytes_max,
        l.content_bytes_max
    FROM unnest(of_tenants) t (id)
    LEFT JOIN context.tenant_limit l ON l.tenant_id = t.id
    LEFT JOIN LATERAL (
        SELECT sum(s.records)::bigint AS records, sum(s.size_bytes)::bigint AS size_bytes
        FROM context.tenant_usage s WHERE s.tenant_id = t.id
    ) u ON true
    WHERE access.lives_here(t.id);
END
$$;

-- Say what a tenant may store: those values whose names are in `changed`, null for what the settings say. Whether it lives here. For the
-- owner, whose command calls it, and for the function behind it.
CREATE FUNCTION context.put_tenant_limits(
    of_name text, changed text[], new_records_max bigint, new_bytes_max bigint, new_blob_bytes_max bigint,
    new_content_bytes_max bigint
) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    of_tenant CONSTANT uuid := (SELECT t.id FROM access.tenant t WHERE t.name = of_name);
BEGIN
    -- Whoever moves the tenant waits for this transaction; if it is leaving, nothing is written (service_runtime/postgres/tenant.py).
    PERFORM pg_advisory_xact_lock_shared(1634493815, uuid_hash(of_tenant));
    IF of_tenant IS NULL OR NOT access.lives_here(of_tenant) THEN
        RETURN false;
    END IF;
    PERFORM access.enter(of_tenant);
    INSERT INTO context.tenant_limit AS l (tenant_id, records_max, bytes_max, blob_bytes_max, content_bytes_max)
    VALUES (of_tenant, new_records_max, new_bytes_max, new_blob_bytes_max, new_content_bytes_max)
    ON CONFLICT (tenant_id) DO UPDATE SET
        records_max = CASE WHEN 'records_max' = ANY (changed) THEN excluded.records_max ELSE l.records_max END,
        bytes_max = CASE WHEN 'bytes_max' = ANY (changed) THEN excluded.bytes_max ELSE l.bytes_max END,
        blob_bytes_max = CASE WHEN 'blob_bytes_max' = ANY (changed) THEN excluded.blob_bytes_max ELSE l.blob_bytes_max END,
        content_bytes_max = CASE WHEN 'content_bytes_max' = ANY (changed) THEN excluded.content_bytes_max
            ELSE l.content_bytes_max END;
    RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION context.set_tenant_limits(
    asking_id uuid, of_name text, changed text[], new_records_max bigint, new_bytes_max bigint, new_blob_bytes_max bigint,
    new_content_bytes_max bigint
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM access.check_operator(asking_id);
    RETURN context.put_tenant_limits(
        of_name, changed, new_records_max, new_bytes_max, new_blob_bytes_max, new_content_bytes_max
    );
END
$$;

-- As before, of those who live here: a tenant who has moved away leaves its rows behind for a while.
CREATE OR REPLACE FUNCTION context.owed_work(asking_id uuid) RETURNS TABLE (
    kind text, owed bigint, failed bigint, oldest_at timestamptz, last_error text
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM access.check_operator(asking_id);
    RETURN QUERY
    SELECT w.kind, sum(w.owed)::bigint, sum(w.failed)::bigint, min(w.oldest_at), max(w.last_error)
    FROM (
        SELECT o.tenant_id, o.topic AS kind, count(*) AS owed, count(*) FILTER (WHERE o.last_error <> '') AS failed,
            min(o.created_at) AS oldest_at, max(o.last_error) AS last_error
        FROM context.outbox o GROUP BY o.tenant_id, o.topic
        UNION ALL
        SELECT r.tenant_id, 'records of messages', count(*), count(*) FILTER (WHERE r.attempts > 0), min(r.created_at),
            coalesce(max(r.detail), '')
        FROM context.message_record r WHERE r.state = 'PENDING' GROUP BY r.tenant_id
        UNION ALL
        SELECT e.tenant_id, 'erasures', count(*), 0, min(e.created_at), ''
        FROM context.erasure e WHERE e.finished_at IS NULL GROUP BY e.tenant_id
        UNION ALL
        SELECT b.tenant_id, 'bytes to remove', count(*), 0, min(b.created_at), ''
        FROM context.blob b WHERE b.state IN ('writing', 'deleting') AND b.due_at < now() GROUP BY b.tenant_id
    ) w
    WHERE access.lives_here(w.tenant_id)
    GROUP BY w.kind;
END
$$;

CREATE OR REPLACE FUNCTION context.retry_work(asking_id uuid, of_kind text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    retried bigint;
BEGIN
    PERFORM access.check_operator(asking_id);
    IF of_kind = 'records of messages' THEN
        UPDATE context.message_record r SET due_at = now(), attempts = 0
        FROM (
            SELECT f.tenant_id, f.context_id, f.seq, f.part FROM context.message_record f
            WHERE f.state = 'PENDING' AND f.attempts > 0 AND access.lives_here(f.tenant_id)
            LIMIT 10000 FOR UPDATE SKIP LOCKED
        ) f
        WHERE (r.tenant_id, r.context_id, r.seq, r.part) = (f.tenant_id, f.context_id, f.seq, f.part);
    ELSE
        UPDATE context.outbox o SET due_at = now(), attempts = 0
        FROM (
            SELECT f.tenant_id, f.id FROM context.outbox f
            WHERE f.topic = of_kind AND f.last_error <> '' AND access.lives_here(f.tenant_id)
            LIMIT 10000 FOR UPDATE SKIP LOCKED
        ) f
        WHERE o.tenant_id = f.tenant_id AND o.id = f.id;
    END IF;
    GET DIAGNOSTICS retried = ROW_COUNT;
    RETURN retried;
END
$$;

REVOKE ALL ON FUNCTION context.stored_by, context.put_tenant_limits FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context.stored_by TO :"service_role";
