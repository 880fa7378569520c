-- The entity graph. The tenant leads every key, and numbers are drawn by tenant (`access.number_row`).
--
-- Policies, and the functions of `access` that make them, are explained in migrations/0001_access.sql of service_runtime.

-- A database that has all the migrations of the series below has everything that follows, and is only marked.
-- replaces the migrations of commit cb91463a: access 19, context 73, entity 17
-- sha256 of the first: 6ebb32ff3d502952e6f4240ddecae4346ab30cd86cd14324364474f5769494aa
-- sha256 of all: 89d2915b2f2ee9603654b36063d3008018663ad5bf059d006f5e3dd58b8fe839

GRANT USAGE ON SCHEMA entity TO :"service_role";


-- Graph
-- -----

-- About the size of a document once it is read. TOAST may compress it to a hundredth, and pages cut by the stored size
-- would fill the service's memory. This costs no more than unpacking it, and nothing where it is not compressed. (`#>
-- '{}'` is the document itself, unpacked.)
CREATE FUNCTION entity.document_bytes(document jsonb) RETURNS integer LANGUAGE sql STABLE PARALLEL SAFE RETURN
    CASE
        WHEN pg_column_compression(document) IS NULL THEN pg_column_size(document)
        ELSE pg_column_size(document #> '{}')
    END;

-- Column order: fixed-width first, which saves padding.
CREATE TABLE entity.node (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    modified_at timestamptz NOT NULL,
    seq bigint NOT NULL,
    version integer NOT NULL DEFAULT 1,
    is_archived boolean NOT NULL DEFAULT false,
    context_id uuid,
    external_id text,
    graph_name text NOT NULL,
    general_type_name text NOT NULL,
    specific_type_name text NOT NULL,
    agent_bundle_id text NOT NULL DEFAULT '',
    name text NOT NULL DEFAULT '',
    status text NOT NULL,
    created_by text NOT NULL,
    owner_user_id text NOT NULL DEFAULT '',
    agent_id text NOT NULL DEFAULT '',
    data jsonb NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
-- Partial, because most nodes have none.
CREATE UNIQUE INDEX node_external_id ON entity.node (tenant_id, graph_name, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX node_name ON entity.node (tenant_id, graph_name, name, created_at DESC, seq DESC)
    WHERE name <> '' AND NOT is_archived;
-- The order of lists, in both directions.
CREATE INDEX node_created ON entity.node (tenant_id, graph_name, created_at, seq);
-- Few distinct values: some seven bytes a row. `type` matches either name.
CREATE INDEX node_general_type ON entity.node (tenant_id, graph_name, general_type_name);
CREATE INDEX node_specific_type ON entity.node (tenant_id, graph_name, specific_type_name);
-- Containment, equality at a path, JSONPath.
CREATE INDEX node_data ON entity.node USING gin (data jsonb_path_ops);

-- Whether this version knows every name in the bounds. Bounds fail closed: an unknown name, such as the context of a
-- context key, or one that cannot be read hides every row.
CREATE FUNCTION entity.knows_bounds(bounds jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN bounds - '{graph_names,agent_bundle_id,app_ids}'::text[] = '{}';

-- Whether a node is within the bounds of the key. Policies call it only for keys that have bounds.
CREATE FUNCTION entity.in_bounds(graph_name text, agent_bundle_id text) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    bounds jsonb := current_setting('app.bounds')::jsonb;
BEGIN
    RETURN entity.knows_bounds(bounds)
        AND coalesce((bounds -> 'graph_names') ? graph_name, NOT bounds ? 'graph_names')
        AND coalesce(bounds ->> 'agent_bundle_id' = agent_bundle_id, NOT bounds ? 'agent_bundle_id');
END
$$;

SELECT access.policy('entity.node', 'tenant', 'bounds:node');
GRANT SELECT, INSERT, UPDATE, DELETE ON entity.node TO :"service_role";

-- Nodes as searches read them. A caller's expression may run only on nodes that the caller may see, because it can
-- raise an error or take its time on a hidden one. Postgres evaluates the conditions of a view in the order that is
-- cheapest, so searches put the caller's conditions into `CASE WHEN is_visible`.
SELECT access.policy_view('entity.node_of_tenant', $$
    SELECT
        tenant_id, id, created_at, modified_at, seq, version, is_archived, context_id, external_id, graph_name,
        general_type_name, specific_type_name, agent_bundle_id, name, status, created_by, owner_user_id, agent_id, data,
        is_visible
    FROM (
        SELECT
            tenant_id, id, created_at, modified_at, seq, version, is_archived, context_id, external_id, graph_name,
            general_type_name, specific_type_name, agent_bundle_id, name, status, created_by, owner_user_id, agent_id, data,
            {tenant} AND {bounds:node} AS is_visible
        FROM entity.node
    ) n
    WHERE is_visible
$$);
GRANT SELECT ON entity.node_of_tenant TO :"service_role";

-- Nodes for counts by index-only scans, for callers without bounds: the policies read columns that the indexes lack.
SELECT access.policy_view('entity.node_to_count', $$
    SELECT tenant_id, graph_name
    FROM entity.node
    WHERE {tenant} AND {unbound}
$$);
GRANT SELECT ON entity.node_to_count TO :"service_role";

-- Each statement looks for the feed once its transaction has an id: so a writer that does not see a new feed has an id
-- below `started_below`. A statement writes rows of one tenant: policies see to that.
CREATE FUNCTION entity.note_nodes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM entity.change_feed f WHERE f.tenant_id = (SELECT c.tenant_id FROM changed c LIMIT 1)) THEN
        INSERT INTO entity.change (
            tenant_id, id, is_removed, graph_name, agent_bundle_id, to_agent_bundle_id, general_type_name,
            specific_type_name
        )
        SELECT
            c.tenant_id, c.id, TG_OP = 'DELETE', c.graph_name, c.agent_bundle_id, c.agent_bundle_id,
            c.general_type_name, c.specific_type_name
        FROM changed c;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER nodes_written_noted AFTER INSERT ON entity.node REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
    WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION entity.note_nodes();
CREATE TRIGGER nodes_changed_noted AFTER UPDATE ON entity.node REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
    WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION entity.note_nodes();
CREATE TRIGGER nodes_removed_noted AFTER DELETE ON entity.node REFERENCING OLD TABLE AS changed FOR EACH STATEMENT
    WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION entity.note_nodes();
CREATE TRIGGER numbered BEFORE INSERT ON entity.node FOR EACH ROW WHEN (NEW.seq IS NULL)
    EXECUTE FUNCTION access.number_row();

-- Whether the caller sees the node: the policies of the table apply.
CREATE FUNCTION entity.sees_node(node_id uuid) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM entity.node n
        WHERE n.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND n.id = node_id
    );
END
$$;

-- The edges. Their agent bundle is that of their nodes.
CREATE TABLE entity.edge (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    from_node_id uuid NOT NULL,
    to_node_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    -- Copied from the child, where it never changes: the newest children are one index scan.
    child_created_at timestamptz NOT NULL,
    child_seq bigint NOT NULL,
    version integer NOT NULL DEFAULT 1,
    context_id uuid,
    graph_name text NOT NULL,
    edge_type text NOT NULL,
    data jsonb NOT NULL,
    -- How new the nodes below an edge can be, so that walks find the newest of a conversation without reading all of
    -- it. `newest_below` is at least the `created_at` of every node one or two steps below the edge's child, over edges
    -- of the types Contains and InResponseTo (`BOUNDED_EDGE_TYPES` in traversal.py); -infinity: there are none. It is
    -- an upper bound: removals leave it, and it is raised a little further than needed, so that a session of any length
    -- seldom raises the edge that leads to it. Of edges of other types it says nothing.
    --
    -- Null: not known, which is always correct: walks read below such an edge. Many edges written at once into existing
    -- nodes, and the edges right above them, begin so; `settle_edges` finds out.
    --
    -- Infinity: the child has so many edges into it that an append below it could not raise them all. Then all edges
    -- into the upper end of this edge are unknown, or read the year 20000: newer than any node.
    --
    -- It stays correct, in READ COMMITTED, because:
    -- - A writer of an edge locks the node that the edge leaves, shared, and then the nodes above that. It reads the
    --   edges into a node only after that.
    -- - Only a transaction that holds the child alone makes an edge known. So it sees each edge written below the
    --   child, or that edge comes later and raises this one. A child as new as the edge has nothing below it yet.
    -- - No transaction waits to hold a node alone: while another one writes below the node, the edge stays unknown.
    newest_below timestamptz,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, from_node_id) REFERENCES entity.node (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, to_node_id) REFERENCES entity.node (tenant_id, id) ON DELETE CASCADE
);
-- One edge of a type between two nodes. The far end leads, so that it serves walks against the direction, too.
CREATE UNIQUE INDEX edge_ends ON entity.edge (tenant_id, to_node_id, edge_type, from_node_id);
CREATE INDEX edge_children ON entity.edge (tenant_id, from_node_id, edge_type, child_created_at, child_seq) INCLUDE
    (to_node_id);
CREATE INDEX edge_type ON entity.edge (tenant_id, graph_name, edge_type);
-- The edges with something below them, newest first. `IS TRUE`, so that queries can say the same without reading the
-- index of types.
CREATE INDEX edge_newest_below ON entity.edge (tenant_id, from_node_id, edge_type, newest_below)
    WHERE newest_below > '-infinity' AND (edge_type IN ('Contains', 'InResponseTo')) IS TRUE;
-- The edges whose bound is not known.
CREATE INDEX edge_unknown ON entity.edge (tenant_id, from_node_id, id)
    WHERE newest_below IS NULL AND (edge_type IN ('Contains', 'InResponseTo')) IS TRUE;

-- Whether all of some nodes of a graph are: for rows that have no agent bundle of their own.
CREATE FUNCTION entity.in_bounds_of_nodes(graph_name text, VARIADIC node_ids uuid[]) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    bounds jsonb := current_setting('app.bounds')::jsonb;
    node_id uuid;
BEGIN
    IF (entity.knows_bounds(bounds) AND coalesce((bounds -> 'graph_names') ? graph_name, NOT bounds ? 'graph_names'))
        IS NOT TRUE
    THEN
        RETURN false;
    END IF;
    IF bounds ? 'agent_bundle_id' THEN
        FOREACH node_id IN ARRAY node_ids LOOP
            IF NOT entity.sees_node(node_id) THEN
                RETURN false;
            END IF;
        END LOOP;
    END IF;
    RETURN true;
END
$$;

-- Whether a graph is, for rows that have no agent bundle of their own.
CREATE FUNCTION entity.graph_in_bounds(graph_name text) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    bounds jsonb := current_setting('app.bounds')::jsonb;
BEGIN
    RETURN entity.knows_bounds(bounds) AND coalesce((bounds -> 'graph_names') ? graph_name, NOT bounds ? 'graph_names');
END
$$;

SELECT access.policy('entity.edge', 'tenant', 'bounds:edge');
GRANT SELECT, INSERT, UPDATE, DELETE ON entity.edge TO :"service_role";

-- Edges for counts, likewise.
SELECT access.policy_view('entity.edge_to_count', $$
    SELECT tenant_id, graph_name, edge_type
    FROM entity.edge
    WHERE {tenant} AND {unbound}
$$);
GRANT SELECT ON entity.edge_to_count TO :"service_role";

-- Foreign keys are checked below all policies: a key must not add an edge to a node that it does not see. Nodes of the
-- same statement are there by now. An edge without `child_seq` lacks an end, and is refused for that.
CREATE FUNCTION entity.refuse_edge_out_of_bounds() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT (entity.sees_node(NEW.from_node_id) AND entity.sees_node(NEW.to_node_id)) THEN
        RAISE insufficient_privilege
            USING MESSAGE = 'new row violates row-level security policy "bounds" for table "edge"';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER bounds BEFORE INSERT ON entity.edge FOR EACH ROW
    WHEN (coalesce(current_setting('app.bounds', true), '') <> '' AND NEW.child_seq IS NOT NULL)
    EXECUTE FUNCTION entity.refuse_edge_out_of_bounds();

-- The edges into a node.
--
-- In these functions ends and types are compared as rows or ranges, as in traversal.py, and `IS TRUE` follows a test
-- for one of two types: otherwise the planner, which knows nothing of a new table, may read everything that a tenant
-- has. A query that must see what was committed before a lock was granted is a statement of its own, in a volatile
-- function. Nodes are locked by advisory locks of the transaction; a tenant has 128 of them (and one for
-- `settle_edges`), so no call takes more, however many nodes it writes below.
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

-- The bound for an edge into a node; null if the bound of an edge that leaves the node is not known.
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

-- As the tables' owner, to whom no policy applies: a write by a bound key raises edges that the key does not see. It
-- reads and writes only the tenants of the new edges, which the policies have checked, and returns nothing.
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

-- Rows of a tenant that is being moved here arrive as they are, together with the rows that triggers make
-- (`app.moving`, which only the mover sets; see service_runtime/moving.py). The trigger `bounds` applies always.
CREATE TRIGGER edges_bounded AFTER INSERT ON entity.edge REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
    WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION entity.bound_edges();

CREATE FUNCTION entity.note_edges() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM entity.change_feed f WHERE f.tenant_id = (SELECT c.tenant_id FROM changed c LIMIT 1)) THEN
        INSERT INTO entity.change (
            tenant_id, id, from_node_id, to_node_id, is_removed, graph_name, agent_bundle_id, to_agent_bundle_id,
            general_type_name, specific_type_name
        )
        SELECT
            c.tenant_id, c.id, c.from_node_id, c.to_node_id, TG_OP = 'DELETE', c.graph_name, parent.agent_bundle_id,
            child.agent_bundle_id, c.edge_type, c.edge_type
        FROM changed c
        LEFT JOIN LATERAL (
            SELECT n.agent_bundle_id FROM entity.node n
            WHERE n.tenant_id = c.tenant_id AND n.id = c.from_node_id
            OFFSET 0
        ) parent ON true
        LEFT JOIN LATERAL (
            SELECT n.agent_bundle_id FROM entity.node n
            WHERE n.tenant_id = c.tenant_id AND n.id = c.to_node_id
            OFFSET 0
        ) child ON true;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER edges_written_noted AFTER INSERT ON entity.edge REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
    WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION entity.note_edges();

-- For one row: updates of other columns of edges, as by appends to the edges above, do not come here.
CREATE FUNCTION entity.note_edge() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM entity.change_feed f WHERE f.tenant_id = NEW.tenant_id) THEN
        INSERT INTO entity.change (
            tenant_id, id, from_node_id, to_node_id, is_removed, graph_name, agent_bundle_id, to_agent_bundle_id,
            general_type_name, specific_type_name
        )
        VALUES (
            NEW.tenant_id, NEW.id, NEW.from_node_id, NEW.to_node_id, false, NEW.graph_name,
            (SELECT n.agent_bundle_id FROM entity.node n WHERE n.tenant_id = NEW.tenant_id AND n.id = NEW.from_node_id),
            (SELECT n.agent_bundle_id FROM entity.node n WHERE n.tenant_id = NEW.tenant_id AND n.id = NEW.to_node_id),
            NEW.edge_type, NEW.edge_type
        );
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER edges_changed_noted AFTER UPDATE OF data ON entity.edge FOR EACH ROW
    WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION entity.note_edge();
CREATE TRIGGER edges_removed_noted AFTER DELETE ON entity.edge REFERENCING OLD TABLE AS changed FOR EACH STATEMENT
    WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION entity.note_edges();

-- Find out the bounds of some unknown edges of the tenant `app.tenant`, in descending order of the node that they
-- leave, from a place in that order on: from the bottom up, where ids are made in order of time. Return how many edges
-- were looked at, how many are known now, and the last place. An edge above an unknown one has to wait. One call at a
-- time for a tenant: another one looks at nothing.
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

-- Collect statistics of new tables before autovacuum does, which takes up to two minutes. Until then Postgres takes an
-- index of everything that a tenant has to be as good as the primary key for one row. A connection plans the checks of
-- foreign keys with the first rows, and keeps that plan for thousands: each edge then read all nodes. Return whether
-- there are statistics now; of a few rows they would say that a table is best read whole.
CREATE FUNCTION entity.analyze_new_tables() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    few CONSTANT integer := 1000;
BEGIN
    IF (SELECT c.reltuples FROM pg_class c WHERE c.oid = 'entity.node'::regclass) >= few THEN
        RETURN true;
    END IF;
    IF (SELECT count(*) FROM (SELECT FROM entity.node LIMIT few) n) < few THEN
        RETURN false;
    END IF;
    ANALYZE entity.node, entity.edge;
    RETURN true;
END
$$;
REVOKE ALL ON FUNCTION entity.analyze_new_tables FROM PUBLIC;
GRANT EXECUTE ON FUNCTION entity.analyze_new_tables TO :"service_role";

-- The timeline of a node: envelopes, appended and never changed.
CREATE TABLE entity.progress (
    tenant_id uuid NOT NULL,
    node_id uuid NOT NULL,
    seq bigint NOT NULL,
    created_at timestamptz NOT NULL,
    context_id uuid,
    type text NOT NULL CHECK (type IN ('STATUS', 'MESSAGE', 'ERROR', 'BOT_PROGRESS', 'VALUE', 'WAITING')),
    status text NOT NULL DEFAULT '',
    sub_type text NOT NULL DEFAULT '',
    message text NOT NULL DEFAULT '',
    value jsonb,
    error jsonb,
    created_by text NOT NULL,
    PRIMARY KEY (tenant_id, node_id, seq),
    FOREIGN KEY (tenant_id, node_id) REFERENCES entity.node (tenant_id, id) ON DELETE CASCADE
);
SELECT access.policy('entity.progress', 'tenant', 'bounds:of_node');
-- Envelopes are appended, read and cleared, never rewritten; only the name of an author changes, when that user is
-- erased.
GRANT SELECT, INSERT, DELETE ON entity.progress TO :"service_role";
GRANT UPDATE (created_by) ON entity.progress TO :"service_role";
CREATE TRIGGER numbered BEFORE INSERT ON entity.progress FOR EACH ROW WHEN (NEW.seq IS NULL)
    EXECUTE FUNCTION access.number_row();

-- Input and output of a node. A table of its own: walks that do not ask for them do not read them, and a new output
-- rewrites neither the node's data nor its version.
CREATE TABLE entity.node_io (
    tenant_id uuid NOT NULL,
    node_id uuid NOT NULL,
    modified_at timestamptz NOT NULL,
    context_id uuid,
    -- Any JSON; SQL null: never set; JSON null is a value.
    input jsonb,
    output jsonb,
    PRIMARY KEY (tenant_id, node_id),
    FOREIGN KEY (tenant_id, node_id) REFERENCES entity.node (tenant_id, id) ON DELETE CASCADE
);
SELECT access.policy('entity.node_io', 'tenant', 'bounds:of_node');
GRANT SELECT, INSERT, UPDATE, DELETE ON entity.node_io TO :"service_role";

-- A node's input and output are read with it.
CREATE FUNCTION entity.note_nodes_of_io() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM entity.change_feed f WHERE f.tenant_id = (SELECT c.tenant_id FROM changed c LIMIT 1)) THEN
        INSERT INTO entity.change (
            tenant_id, id, is_removed, graph_name, agent_bundle_id, to_agent_bundle_id, general_type_name,
            specific_type_name
        )
        SELECT
            n.tenant_id, n.id, false, n.graph_name, n.agent_bundle_id, n.agent_bundle_id, n.general_type_name,
            n.specific_type_name
        FROM changed c
        CROSS JOIN LATERAL (
            SELECT
                n.tenant_id, n.id, n.graph_name, n.agent_bundle_id, n.general_type_name, n.specific_type_name
            FROM entity.node n
            WHERE n.tenant_id = c.tenant_id AND n.id = c.node_id
            OFFSET 0
        ) n;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER io_written_noted AFTER INSERT ON entity.node_io REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
    WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION entity.note_nodes_of_io();
CREATE TRIGGER io_changed_noted AFTER UPDATE ON entity.node_io REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
    WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION entity.note_nodes_of_io();

-- Named vectors of a node.
CREATE TABLE entity.embedding (
    tenant_id uuid NOT NULL,
    owner_kind text NOT NULL CHECK (owner_kind IN ('node')),
    owner_id uuid NOT NULL,
    name text NOT NULL,
    context_id uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    dimension integer NOT NULL,
    model text NOT NULL DEFAULT '',
    text_sha256 bytea,
    metadata jsonb NOT NULL DEFAULT '{}',
    -- MAIN: inline where a row fits a page, so that an exact scan does without TOAST; 4,000 dimensions and the other
    -- columns do not fit.
    vector public.halfvec STORAGE MAIN NOT NULL,
    -- Vectors are searched within a graph.
    graph_name text NOT NULL,
    PRIMARY KEY (tenant_id, owner_kind, owner_id, name)
);
-- Everything that one search scans, row by row.
CREATE INDEX embedding_slice ON entity.embedding (tenant_id, graph_name, name);
SELECT access.policy('entity.embedding', 'tenant', 'bounds:embedding');
GRANT SELECT, INSERT, UPDATE, DELETE ON entity.embedding TO :"service_role";

-- Answers of idempotent calls, kept for at least 24 hours.
CREATE TABLE entity.request (
    tenant_id uuid NOT NULL,
    request_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    rpc text NOT NULL,
    fingerprint bytea NOT NULL,
    answer jsonb NOT NULL,
    -- The bounds of the key that called: keys with other bounds do not get the answer.
    bounds text NOT NULL DEFAULT coalesce(current_setting('app.bounds', true), ''),
    -- For whom the call was: "=" and the user's id.
    subject text DEFAULT nullif(current_setting('app.subject', true), ''),
    PRIMARY KEY (tenant_id, request_id)
);
CREATE INDEX request_age ON entity.request (tenant_id, created_at);
SELECT access.policy('entity.request', 'tenant', 'bounds:same');
GRANT SELECT, INSERT, UPDATE, DELETE ON entity.request TO :"service_role";


-- Changes
-- -------

-- Where a feed was started. Transaction ids mean nothing in another cluster, and changes that a restored database lost
-- are not in its list. So a feed and its page tokens say where the feed was started, and a feed that finds itself
-- elsewhere starts again: see `change_feed.py`.
--
-- It is made of the cluster, its timeline (a restore to a point in time and a failover begin a new one), the database,
-- and the table: `pg_restore` makes both of them new. A provider that hides the cluster's identifier leaves the last
-- three.
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

-- The change feed, for readers that keep something that is made of a graph: see `change_feed.py`. A tenant has a feed
-- once it asked for one. Without one, its writes look for the feed once a statement, and write nothing more.
CREATE TABLE entity.change_feed (
    tenant_id uuid PRIMARY KEY,
    started_at timestamptz NOT NULL DEFAULT now(),
    -- Transactions that began to write before the feed was there have ids below this; null until it is known.
    started_below xid8,
    -- The last change that was deleted: a reader that has not come so far has missed some.
    forgotten_transaction_id xid8 NOT NULL DEFAULT '0',
    forgotten_seq bigint NOT NULL DEFAULT 0,
    origin text NOT NULL DEFAULT entity.change_origin(),
    -- A page token of the feed holds a transaction's id, which counts the writes of all tenants; so it is encrypted
    -- with this key of the feed.
    place_key bytea NOT NULL DEFAULT decode(replace(((gen_random_uuid())::text || (gen_random_uuid())::text), '-', ''),
        'hex')
);
SELECT access.policy('entity.change_feed', 'tenant', 'bounds:change_feed');
GRANT SELECT, INSERT, UPDATE ON entity.change_feed TO :"service_role";

-- In order of transaction ids. No row appears late below the oldest transaction that still runs.
CREATE TABLE entity.change (
    tenant_id uuid NOT NULL,
    transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
    seq bigint NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now(),
    -- Of a node or an edge.
    id uuid NOT NULL,
    -- Of an edge; null: it is a node.
    from_node_id uuid,
    to_node_id uuid,
    is_removed boolean NOT NULL,
    graph_name text NOT NULL,
    -- Of a node, or of the nodes of an edge. Null: the node is gone already, and no key of an agent bundle sees the
    -- change.
    agent_bundle_id text,
    to_agent_bundle_id text,
    -- Of an edge: its type.
    general_type_name text NOT NULL,
    specific_type_name text NOT NULL,
    PRIMARY KEY (tenant_id, transaction_id, seq)
);
SELECT access.policy('entity.change', 'tenant', 'bounds:change');
-- When a user is erased, a change still says that a node is gone, and nothing of what it was.
GRANT SELECT, INSERT, DELETE ON entity.change TO :"service_role";
GRANT UPDATE (general_type_name, specific_type_name) ON entity.change TO :"service_role";
CREATE TRIGGER numbered BEFORE INSERT ON entity.change FOR EACH ROW WHEN (NEW.seq IS NULL)
    EXECUTE FUNCTION access.number_row();


-- Erasures
-- --------

-- Users who are erased: their nodes are removed in steps. The row has the user's id while that goes on.
CREATE TABLE entity.erasure (
    tenant_id uuid NOT NULL,
    erasure_id uuid NOT NULL,
    -- Null: finished.
    subject text,
    created_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    -- Another replica is at work until this time.
    due_at timestamptz NOT NULL DEFAULT now(),
    nodes_removed bigint NOT NULL DEFAULT 0,
    edges_removed bigint NOT NULL DEFAULT 0,
    answers_removed bigint NOT NULL DEFAULT 0,
    names_replaced bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, erasure_id)
);
CREATE INDEX erasure_finished ON entity.erasure (tenant_id, finished_at);
SELECT access.policy('entity.erasure', 'tenant', 'bounds:hidden');
GRANT SELECT, INSERT, UPDATE, DELETE ON entity.erasure TO :"service_role";
