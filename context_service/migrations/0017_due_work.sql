-- A worker claims the due rows of one topic and tenant; a poll looks for the tenants of each topic.
CREATE INDEX outbox_of_topic ON context.outbox (tenant_id, topic, due_at);
DROP INDEX context.outbox_due;

-- Return the tenants that live here and have due work, by topic; of the home database, those that are listed. A step of the
-- recursion reads one index entry, and so passes over the backlog of a tenant. Without the settings, a plan that was made
-- while the tables were empty would read them as a whole.
CREATE FUNCTION context.due_work() RETURNS TABLE (topic text, tenant_id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
BEGIN
    RETURN QUERY
    WITH RECURSIVE queue AS (
        (SELECT o.topic, o.tenant_id FROM context.outbox o ORDER BY o.tenant_id, o.topic LIMIT 1)
        UNION ALL
        SELECT n.topic, n.tenant_id
        FROM queue q CROSS JOIN LATERAL (
            SELECT o.topic, o.tenant_id FROM context.outbox o WHERE (o.tenant_id, o.topic) > (q.tenant_id, q.topic)
            ORDER BY o.tenant_id, o.topic LIMIT 1
        ) n
    ), pointing AS (
        (
            SELECT r.tenant_id FROM context.message_record r WHERE r.state = 'PENDING' OR r.record_id IS NULL
            ORDER BY r.tenant_id LIMIT 1
        )
        UNION ALL
        SELECT n.tenant_id
        FROM pointing p CROSS JOIN LATERAL (
            SELECT r.tenant_id FROM context.message_record r
            WHERE r.tenant_id > p.tenant_id AND (r.state = 'PENDING' OR r.record_id IS NULL)
            ORDER BY r.tenant_id LIMIT 1
        ) n
    ), due AS (
        SELECT q.topic, q.tenant_id FROM queue q
        WHERE (
            SELECT true FROM context.outbox o
            WHERE o.tenant_id = q.tenant_id AND o.topic = q.topic AND o.due_at <= now()
            ORDER BY o.due_at LIMIT 1
        )
        UNION ALL
        SELECT 'records of messages', p.tenant_id FROM pointing p
        WHERE (
            SELECT true FROM context.message_record r
            WHERE r.tenant_id = p.tenant_id AND (r.state = 'PENDING' OR r.record_id IS NULL) AND r.due_at <= now()
            ORDER BY r.due_at LIMIT 1
        )
    )
    SELECT d.topic, d.tenant_id FROM due d
    WHERE access.lives_here(d.tenant_id) AND (
        EXISTS (SELECT FROM access.this_database) OR EXISTS (SELECT FROM access.tenant t WHERE t.id = d.tenant_id)
    );
END
$$;
REVOKE ALL ON FUNCTION context.due_work FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context.due_work TO :"service_role";
