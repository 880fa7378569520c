-- How new what lies below an edge can be, so that the newest of a conversation are found without walking all of it.
--
-- `newest_below` is at least the `created_at` of every node that is one or two steps below the edge's child, over edges
-- of type Contains and InResponseTo (as `BOUNDED_EDGE_TYPES` of traversal.py); -infinity: nothing is. It is a bound, not
-- a time: removals leave it as it is, and it is raised a little ahead of what it has to be, so that a session of any
-- length seldom raises the edge that leads to it. Of edges of other types it says nothing.
--
-- Null: not known, which is always right: a walk reads below such an edge. So are the edges that were there before, those
-- that many at once were written into nodes that were there, and what lies right above them. `settle_edges` finds out.
-- Infinity: the child has so many edges into it that an append below it could not raise them all. Then all edges into the
-- upper end of this one are not known, or read the year 20000: newer than any node.
--
-- What keeps it right, in READ COMMITTED:
-- - Whoever writes an edge holds the node that it leaves, shared, and then the nodes above that. The edges into a node are
--   read only behind that.
-- - An edge gets known only by whoever holds its child alone. So each edge that is written below the child is seen by
--   then, or comes later and raises this one. A child that is as new as the edge has nothing below it yet.
-- - Nobody waits to hold a node alone: where somebody writes below it just now, the edge stays unknown.
ALTER TABLE entity.edge ADD COLUMN newest_below timestamptz;

-- In the functions below, ends and types are compared as rows or ranges, as in traversal.py, and that a type is one of two
-- is said with `IS TRUE`: otherwise the planner may read all that a tenant has, while it knows nothing of a new table.
-- What is asked behind a lock is a statement of its own, which in a volatile function sees what was committed by then. A
-- node is held by an advisory lock of the transaction, of which a tenant has 128 (and one more, for those who settle): no
-- call takes more, however many nodes it writes below.

-- The edges into a node.
CREATE FUNCTION entity.edges_into(of_tenant uuid, of_node uuid)
    RETURNS TABLE (id uuid, near_id uuid, newest_below timestamptz) LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT e.id, e.from_node_id, e.newest_below FROM entity.edge e
    WHERE e.tenant_id = of_tenant AND e.to_node_id >= of_node AND e.to_node_id <= of_node
        AND (e.to_node_id, e.edge_type) >= (of_node, 'Contains')
        AND (e.to_node_id, e.edge_type) <= (of_node, 'InResponseTo')
        AND (e.edge_type IN ('Contains', 'InResponseTo')) IS TRUE
    OFFSET 0;
END;

-- What an edge into a node may say of it; null if an edge that leaves the node is not known.
CREATE FUNCTION entity.newest_below_node(of_tenant uuid, of_node uuid) RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
DECLARE
    edges_max CONSTANT integer := 64;
    bound timestamptz := '-infinity';
    of_type text;
    child timestamptz;
    below timestamptz;
BEGIN
    IF (SELECT count(*) > edges_max FROM (SELECT FROM entity.edges_into(of_tenant, of_node) LIMIT edges_max + 1) i) THEN
        RETURN 'infinity';
    END IF;
    IF EXISTS (
        SELECT FROM entity.edge e
        WHERE e.tenant_id = of_tenant AND e.from_node_id >= of_node AND e.from_node_id <= of_node
            AND e.newest_below IS NULL AND (e.edge_type IN ('Contains', 'InResponseTo')) IS TRUE
    ) THEN
        RETURN NULL;
    END IF;
    FOREACH of_type IN ARRAY ARRAY['Contains', 'InResponseTo'] LOOP
        SELECT e.child_created_at INTO child FROM entity.edge e
        WHERE e.tenant_id = of_tenant AND e.from_node_id >= of_node AND e.from_node_id <= of_node
            AND (e.from_node_id, e.edge_type) >= (of_node, of_type)
            AND (e.from_node_id, e.edge_type) <= (of_node, of_type)
        ORDER BY e.from_node_id DESC, e.edge_type DESC, e.child_created_at DESC, e.child_seq DESC LIMIT 1;
        CONTINUE WHEN NOT FOUND;
        SELECT e.newest_below INTO below FROM entity.edge e
        WHERE e.tenant_id = of_tenant AND e.from_node_id >= of_node AND e.from_node_id <= of_node
            AND (e.from_node_id, e.edge_type) >= (of_node, of_type)
            AND (e.from_node_id, e.edge_type) <= (of_node, of_type)
            AND e.newest_below > '-infinity' AND (e.edge_type IN ('Contains', 'InResponseTo')) IS TRUE
        ORDER BY e.from_node_id DESC, e.edge_type DESC, e.newest_below DESC LIMIT 1;
        bound := greatest(bound, child);
        IF FOUND THEN
            bound := greatest(bound, least(below, '20000-01-01Z'));
        END IF;
    END LOOP;
    RETURN bound;
END
$$;

-- As the tables' owner, whom no policy holds: what a bound key writes raises edges that the key does not see. It reads and
-- writes the tenants of the new edges, which the policies have checked, and returns nothing.
CREATE FUNCTION entity.bound_edges() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    few CONSTANT integer := 20;
    ahead_max CONSTANT interval := '1 hour';
    -- Of each node that new edges leave: what lies one step below the edges into it, and what one or two; or not known.
    tenant_ids uuid[];
    node_ids uuid[];
    newest_near timestamptz[];
    newest timestamptz[];
    unknown bigint[];
    -- Of each node above: what lies two steps below the edges into it.
    upper_tenant_ids uuid[];
    upper_node_ids uuid[];
    upper_newest timestamptz[];
    -- Edges that have to be raised.
    edge_ids uuid[];
    are_unknown boolean[];
    -- Children that are held alone.
    held_tenant_ids uuid[];
    held_ids uuid[];
    unknown_count bigint;
    found bigint;
    upper_node_id uuid;
    upper_edge_ids uuid[];
BEGIN
    SELECT array_agg(w.tenant_id), array_agg(w.node_id), array_agg(w.newest_near), array_agg(w.newest),
        array_agg(w.unknown), sum(w.unknown)
    INTO tenant_ids, node_ids, newest_near, newest, unknown, unknown_count
    FROM (
        SELECT c.tenant_id, c.from_node_id AS node_id, max(c.child_created_at) AS newest_near,
            greatest(max(c.child_created_at), least(max(c.newest_below), '20000-01-01Z')) AS newest,
            count(*) FILTER (WHERE c.newest_below IS NULL) AS unknown
        FROM changed c
        WHERE c.edge_type IN ('Contains', 'InResponseTo')
        GROUP BY c.tenant_id, c.from_node_id
    ) w;
    IF tenant_ids IS NULL THEN
        RETURN NULL;
    END IF;

    IF cardinality(tenant_ids) = 1 AND unknown_count = 0 THEN
        -- An append: as below, in fewer and smaller statements.
        PERFORM pg_advisory_xact_lock_shared(uuid_hash(tenant_ids[1]), uuid_hash(node_ids[1]) & 127);
        SELECT coalesce(array_agg(e.near_id) FILTER (WHERE e.newest_below IS DISTINCT FROM 'infinity'), '{}'),
            coalesce(array_agg(e.id) FILTER (WHERE e.newest_below < newest[1]), '{}')
        INTO upper_node_ids, edge_ids
        FROM entity.edges_into(tenant_ids[1], node_ids[1]) e;
        newest := array_fill(newest[1], ARRAY[cardinality(edge_ids)]);
        FOREACH upper_node_id IN ARRAY upper_node_ids LOOP
            PERFORM pg_advisory_xact_lock_shared(uuid_hash(tenant_ids[1]), uuid_hash(upper_node_id) & 127);
            SELECT coalesce(array_agg(e.id), '{}') INTO upper_edge_ids
            FROM entity.edges_into(tenant_ids[1], upper_node_id) e
            WHERE e.newest_below < newest_near[1];
            edge_ids := edge_ids || upper_edge_ids;
            newest := newest || array_fill(newest_near[1], ARRAY[cardinality(upper_edge_ids)]);
        END LOOP;
        IF cardinality(edge_ids) > 1 THEN
            SELECT array_agg(r.id), array_agg(r.newest)
            INTO edge_ids, newest
            FROM (
                SELECT r.id, max(r.newest) AS newest
                FROM unnest(edge_ids, newest) AS r (id, newest) GROUP BY r.id ORDER BY r.id
            ) r;
        END IF;
        tenant_ids := array_fill(tenant_ids[1], ARRAY[cardinality(edge_ids)]);
        are_unknown := array_fill(false, ARRAY[cardinality(edge_ids)]);
    ELSE
        PERFORM pg_advisory_xact_lock_shared(uuid_hash(w.tenant_id), uuid_hash(w.node_id) & 127)
        FROM unnest(tenant_ids, node_ids) AS w (tenant_id, node_id);
        -- What is above an edge that reads infinity need not be raised.
        SELECT array_agg(u.tenant_id), array_agg(u.near_id), array_agg(u.newest)
        INTO upper_tenant_ids, upper_node_ids, upper_newest
        FROM (
            SELECT w.tenant_id, e.near_id, max(w.newest) AS newest
            FROM unnest(tenant_ids, node_ids, newest_near) AS w (tenant_id, node_id, newest)
            CROSS JOIN LATERAL entity.edges_into(w.tenant_id, w.node_id) e
            WHERE e.newest_below IS DISTINCT FROM 'infinity'
            GROUP BY w.tenant_id, e.near_id
        ) u;
        IF upper_tenant_ids IS NOT NULL THEN
            PERFORM pg_advisory_xact_lock_shared(uuid_hash(w.tenant_id), uuid_hash(w.node_id) & 127)
            FROM unnest(upper_tenant_ids, upper_node_ids) AS w (tenant_id, node_id);
        END IF;

        IF unknown_count BETWEEN 1 AND few THEN
            SELECT array_agg(l.tenant_id), array_agg(l.node_id)
            INTO held_tenant_ids, held_ids
            FROM (
                SELECT DISTINCT c.tenant_id, c.to_node_id AS node_id FROM changed c
                WHERE c.newest_below IS NULL AND c.edge_type IN ('Contains', 'InResponseTo')
            ) l
            WHERE pg_try_advisory_xact_lock(uuid_hash(l.tenant_id), uuid_hash(l.node_id) & 127);
            -- One of them may be below another.
            LOOP
                UPDATE entity.edge e
                SET newest_below = b.newest
                FROM (
                    SELECT c.tenant_id, c.id, b.newest
                    FROM (
                        SELECT w.tenant_id, w.node_id, entity.newest_below_node(w.tenant_id, w.node_id) AS newest
                        FROM unnest(held_tenant_ids, held_ids) AS w (tenant_id, node_id)
                        OFFSET 0
                    ) b
                    JOIN changed c ON c.tenant_id = b.tenant_id AND c.to_node_id = b.node_id
                        AND c.edge_type IN ('Contains', 'InResponseTo') AND c.newest_below IS NULL
                    WHERE b.newest IS NOT NULL
                ) b
                WHERE e.tenant_id = b.tenant_id AND e.id >= b.id AND e.id <= b.id AND e.newest_below IS NULL;
                GET DIAGNOSTICS found = ROW_COUNT;
                unknown_count := unknown_count - found;
                EXIT WHEN found = 0 OR unknown_count = 0;
            END LOOP;
            SELECT array_agg(w.tenant_id), array_agg(w.node_id), array_agg(w.newest), array_agg(w.unknown)
            INTO tenant_ids, node_ids, newest, unknown
            FROM (
                SELECT c.tenant_id, c.from_node_id AS node_id,
                    greatest(max(c.child_created_at), least(max(e.newest_below), '20000-01-01Z')) AS newest,
                    count(*) FILTER (WHERE e.newest_below IS NULL) AS unknown
                FROM changed c
                CROSS JOIN LATERAL (
                    SELECT e.newest_below FROM entity.edge e
                    WHERE e.tenant_id = c.tenant_id AND e.id >= c.id AND e.id <= c.id
                    OFFSET 0
                ) e
                WHERE c.edge_type IN ('Contains', 'InResponseTo')
                GROUP BY c.tenant_id, c.from_node_id
            ) w;
        END IF;

        SELECT array_agg(r.tenant_id), array_agg(r.id), array_agg(r.newest), array_agg(r.unknown)
        INTO tenant_ids, edge_ids, newest, are_unknown
        FROM (
            SELECT r.tenant_id, r.id, max(r.newest) AS newest, bool_or(r.unknown) AS unknown
            FROM (
                SELECT w.tenant_id, e.id, e.newest_below, w.newest, w.unknown > 0 AS unknown
                FROM unnest(tenant_ids, node_ids, newest, unknown) AS w (tenant_id, node_id, newest, unknown)
                CROSS JOIN LATERAL entity.edges_into(w.tenant_id, w.node_id) e
                UNION ALL
                SELECT w.tenant_id, e.id, e.newest_below, w.newest, false
                FROM unnest(upper_tenant_ids, upper_node_ids, upper_newest) AS w (tenant_id, node_id, newest)
                CROSS JOIN LATERAL entity.edges_into(w.tenant_id, w.node_id) e
            ) r
            WHERE r.newest_below < CASE WHEN r.unknown THEN 'infinity' ELSE r.newest END
            GROUP BY r.tenant_id, r.id
            ORDER BY r.id
        ) r;
    END IF;

    -- In the order of ids, so that two calls wait for each other only one way round.
    FOR number IN 1 .. coalesce(cardinality(edge_ids), 0) LOOP
        UPDATE entity.edge e
        SET newest_below = CASE
            WHEN are_unknown[number] THEN NULL
            WHEN newest[number] > e.child_created_at
            THEN newest[number] + least((newest[number] - e.child_created_at) / 8, ahead_max)
            ELSE newest[number]
        END
        WHERE e.tenant_id = tenant_ids[number] AND e.id = edge_ids[number]
            AND e.newest_below < CASE WHEN are_unknown[number] THEN 'infinity' ELSE newest[number] END;
    END LOOP;
    RETURN NULL;
END
$$;

CREATE TRIGGER edges_bounded AFTER INSERT ON entity.edge
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION entity.bound_edges();

-- Find out what is below some of the edges of the tenant `app.tenant` that are not known, in descending order of the node
-- that they leave, which is from the bottom up where ids are made in the order of time; behind a place in that order.
-- Returns how many it has looked at, how many are known now, and its place. An edge above one that is not known has to
-- wait for that. One at a time for a tenant: looks at nothing where another is at it.
CREATE FUNCTION entity.settle_edges(
    edges_max integer, before_node_id uuid, before_id uuid,
    OUT looked_at integer, OUT settled integer, OUT last_node_id uuid, OUT last_id uuid
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    of_tenant CONSTANT uuid := nullif(current_setting('app.tenant', true), '')::uuid;
    one record;
    newest timestamptz;
BEGIN
    looked_at := 0;
    settled := 0;
    IF NOT pg_try_advisory_xact_lock(uuid_hash(of_tenant), 128) THEN
        RETURN;
    END IF;
    FOR one IN
        SELECT e.id, e.from_node_id, e.to_node_id FROM entity.edge e
        WHERE e.tenant_id = of_tenant AND (e.from_node_id, e.id) < (before_node_id, before_id)
            AND e.newest_below IS NULL AND (e.edge_type IN ('Contains', 'InResponseTo')) IS TRUE
        ORDER BY e.from_node_id DESC, e.id DESC LIMIT edges_max
    LOOP
        looked_at := looked_at + 1;
        last_node_id := one.from_node_id;
        last_id := one.id;
        CONTINUE WHEN NOT pg_try_advisory_xact_lock(uuid_hash(of_tenant), uuid_hash(one.to_node_id) & 127);
        SELECT entity.newest_below_node(of_tenant, one.to_node_id) INTO newest;
        CONTINUE WHEN newest IS NULL;
        -- Whoever changes its data just now is not waited for.
        PERFORM FROM entity.edge e WHERE e.tenant_id = of_tenant AND e.id = one.id FOR NO KEY UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        UPDATE entity.edge e SET newest_below = newest WHERE e.tenant_id = of_tenant AND e.id = one.id;
        settled := settled + 1;
        IF newest = 'infinity' THEN
            -- An append below does not look further up than this edge.
            UPDATE entity.edge e SET newest_below = '20000-01-01Z'
            WHERE e.tenant_id = of_tenant AND e.to_node_id >= one.from_node_id AND e.to_node_id <= one.from_node_id
                AND (e.edge_type IN ('Contains', 'InResponseTo')) IS TRUE AND e.newest_below < '20000-01-01Z';
        END IF;
    END LOOP;
END
$$;
REVOKE ALL ON FUNCTION entity.settle_edges FROM PUBLIC;
GRANT EXECUTE ON FUNCTION entity.settle_edges TO :"service_role";
