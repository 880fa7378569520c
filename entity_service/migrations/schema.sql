-- What the migrations add up to; written by `make schema`, never by hand.

CREATE SCHEMA entity;

ALTER SCHEMA entity OWNER TO contextkeep_owner;

CREATE FUNCTION entity.analyze_new_tables() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION entity.analyze_new_tables() OWNER TO contextkeep_owner;

CREATE FUNCTION entity.bound_edges() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$
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

ALTER FUNCTION entity.bound_edges() OWNER TO contextkeep_owner;

CREATE FUNCTION entity.change_origin() RETURNS text
    LANGUAGE plpgsql STABLE
    AS $$
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

ALTER FUNCTION entity.change_origin() OWNER TO contextkeep_owner;

CREATE FUNCTION entity.document_bytes(document jsonb) RETURNS integer
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN (pg_column_compression(document) IS NULL) THEN pg_column_size(document) ELSE pg_column_size((document #> '{}'::text[])) END;

ALTER FUNCTION entity.document_bytes(document jsonb) OWNER TO contextkeep_owner;

CREATE TABLE entity.edge (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    from_node_id uuid NOT NULL,
    to_node_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    child_created_at timestamp with time zone NOT NULL,
    child_seq bigint NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    context_id uuid,
    graph_name text NOT NULL,
    edge_type text NOT NULL,
    data jsonb NOT NULL,
    newest_below timestamp with time zone
);

ALTER TABLE entity.edge OWNER TO contextkeep_owner;

CREATE FUNCTION entity.edges_into(of_tenant uuid, of_node uuid) RETURNS TABLE(id uuid, near_id uuid, newest_below timestamp with time zone)
    LANGUAGE sql STABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT e.id,
     e.from_node_id,
     e.newest_below
    FROM entity.edge e
   WHERE ((e.tenant_id = edges_into.of_tenant) AND (e.to_node_id >= edges_into.of_node) AND (e.to_node_id <= edges_into.of_node) AND (ROW(e.to_node_id, e.edge_type) >= ROW(edges_into.of_node, 'Contains'::text)) AND (ROW(e.to_node_id, e.edge_type) <= ROW(edges_into.of_node, 'InResponseTo'::text)) AND ((e.edge_type = ANY (ARRAY['Contains'::text, 'InResponseTo'::text])) IS TRUE))
  OFFSET 0;
END;

ALTER FUNCTION entity.edges_into(of_tenant uuid, of_node uuid) OWNER TO contextkeep_owner;

CREATE FUNCTION entity.graph_in_bounds(graph_name text) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    AS $$
DECLARE
    bounds jsonb := current_setting('app.bounds')::jsonb;
BEGIN
    RETURN entity.knows_bounds(bounds) AND coalesce((bounds -> 'graph_names') ? graph_name, NOT bounds ? 'graph_names');
END
$$;

ALTER FUNCTION entity.graph_in_bounds(graph_name text) OWNER TO contextkeep_owner;

CREATE FUNCTION entity.in_bounds(graph_name text, agent_bundle_id text) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    AS $$
DECLARE
    bounds jsonb := current_setting('app.bounds')::jsonb;
BEGIN
    RETURN entity.knows_bounds(bounds)
        AND coalesce((bounds -> 'graph_names') ? graph_name, NOT bounds ? 'graph_names')
        AND coalesce(bounds ->> 'agent_bundle_id' = agent_bundle_id, NOT bounds ? 'agent_bundle_id');
END
$$;

ALTER FUNCTION entity.in_bounds(graph_name text, agent_bundle_id text) OWNER TO contextkeep_owner;

CREATE FUNCTION entity.in_bounds_of_nodes(graph_name text, VARIADIC node_ids uuid[]) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    AS $$
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

ALTER FUNCTION entity.in_bounds_of_nodes(graph_name text, VARIADIC node_ids uuid[]) OWNER TO contextkeep_owner;

CREATE FUNCTION entity.knows_bounds(bounds jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((bounds - '{graph_names,agent_bundle_id,app_ids}'::text[]) = '{}'::jsonb);

ALTER FUNCTION entity.knows_bounds(bounds jsonb) OWNER TO contextkeep_owner;

CREATE FUNCTION entity.newest_below_node(of_tenant uuid, of_node uuid) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    AS $$
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

ALTER FUNCTION entity.newest_below_node(of_tenant uuid, of_node uuid) OWNER TO contextkeep_owner;

CREATE FUNCTION entity.note_edge() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

ALTER FUNCTION entity.note_edge() OWNER TO contextkeep_owner;

CREATE FUNCTION entity.note_edges() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

ALTER FUNCTION entity.note_edges() OWNER TO contextkeep_owner;

CREATE FUNCTION entity.note_nodes() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

ALTER FUNCTION entity.note_nodes() OWNER TO contextkeep_owner;

CREATE FUNCTION entity.note_nodes_of_io() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

ALTER FUNCTION entity.note_nodes_of_io() OWNER TO contextkeep_owner;

CREATE FUNCTION entity.refuse_edge_out_of_bounds() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT (entity.sees_node(NEW.from_node_id) AND entity.sees_node(NEW.to_node_id)) THEN
        RAISE insufficient_privilege
            USING MESSAGE = 'new row violates row-level security policy "bounds" for table "edge"';
    END IF;
    RETURN NEW;
END
$$;

ALTER FUNCTION entity.refuse_edge_out_of_bounds() OWNER TO contextkeep_owner;

CREATE FUNCTION entity.sees_node(node_id uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM entity.node n
        WHERE n.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND n.id = node_id
    );
END
$$;

ALTER FUNCTION entity.sees_node(node_id uuid) OWNER TO contextkeep_owner;

CREATE FUNCTION entity.settle_edges(edges_max integer, before_node_id uuid, before_id uuid, OUT looked_at integer, OUT settled integer, OUT last_node_id uuid, OUT last_id uuid) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$
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

ALTER FUNCTION entity.settle_edges(edges_max integer, before_node_id uuid, before_id uuid, OUT looked_at integer, OUT settled integer, OUT last_node_id uuid, OUT last_id uuid) OWNER TO contextkeep_owner;

CREATE TABLE entity.change (
    tenant_id uuid NOT NULL,
    transaction_id xid8 DEFAULT pg_current_xact_id() NOT NULL,
    seq bigint NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    id uuid NOT NULL,
    from_node_id uuid,
    to_node_id uuid,
    is_removed boolean NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text,
    to_agent_bundle_id text,
    general_type_name text NOT NULL,
    specific_type_name text NOT NULL
);

ALTER TABLE entity.change OWNER TO contextkeep_owner;

CREATE TABLE entity.change_feed (
    tenant_id uuid NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    started_below xid8,
    forgotten_transaction_id xid8 DEFAULT '0'::xid8 NOT NULL,
    forgotten_seq bigint DEFAULT 0 NOT NULL,
    origin text DEFAULT entity.change_origin() NOT NULL,
    place_key bytea DEFAULT decode(replace(((gen_random_uuid())::text || (gen_random_uuid())::text), '-'::text, ''::text), 'hex'::text) NOT NULL
);

ALTER TABLE entity.change_feed OWNER TO contextkeep_owner;

CREATE VIEW entity.edge_to_count AS
 SELECT tenant_id,
    graph_name,
    edge_type
   FROM entity.edge
  WHERE ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")) AND (NULLIF(( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)), false) IS NOT NULL));

ALTER VIEW entity.edge_to_count OWNER TO contextkeep_owner;

CREATE TABLE entity.embedding (
    tenant_id uuid NOT NULL,
    owner_kind text NOT NULL,
    owner_id uuid NOT NULL,
    name text NOT NULL,
    context_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    dimension integer NOT NULL,
    model text DEFAULT ''::text NOT NULL,
    text_sha256 bytea,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    vector public.halfvec NOT NULL,
    graph_name text NOT NULL,
    CONSTRAINT embedding_owner_kind_check CHECK ((owner_kind = 'node'::text))
);
ALTER TABLE ONLY entity.embedding ALTER COLUMN vector SET STORAGE MAIN;

ALTER TABLE entity.embedding OWNER TO contextkeep_owner;

CREATE TABLE entity.erasure (
    tenant_id uuid NOT NULL,
    erasure_id uuid NOT NULL,
    subject text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone,
    due_at timestamp with time zone DEFAULT now() NOT NULL,
    nodes_removed bigint DEFAULT 0 NOT NULL,
    edges_removed bigint DEFAULT 0 NOT NULL,
    answers_removed bigint DEFAULT 0 NOT NULL,
    names_replaced bigint DEFAULT 0 NOT NULL
);

ALTER TABLE entity.erasure OWNER TO contextkeep_owner;

CREATE TABLE entity.migration (
    version integer NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE entity.migration OWNER TO contextkeep_owner;

CREATE TABLE entity.node (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    modified_at timestamp with time zone NOT NULL,
    seq bigint NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    is_archived boolean DEFAULT false NOT NULL,
    context_id uuid,
    external_id text,
    graph_name text NOT NULL,
    general_type_name text NOT NULL,
    specific_type_name text NOT NULL,
    agent_bundle_id text DEFAULT ''::text NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    status text NOT NULL,
    created_by text NOT NULL,
    owner_user_id text DEFAULT ''::text NOT NULL,
    agent_id text DEFAULT ''::text NOT NULL,
    data jsonb NOT NULL
);

ALTER TABLE entity.node OWNER TO contextkeep_owner;

CREATE TABLE entity.node_io (
    tenant_id uuid NOT NULL,
    node_id uuid NOT NULL,
    modified_at timestamp with time zone NOT NULL,
    context_id uuid,
    input jsonb,
    output jsonb
);

ALTER TABLE entity.node_io OWNER TO contextkeep_owner;

CREATE VIEW entity.node_of_tenant AS
 SELECT tenant_id,
    id,
    created_at,
    modified_at,
    seq,
    version,
    is_archived,
    context_id,
    external_id,
    graph_name,
    general_type_name,
    specific_type_name,
    agent_bundle_id,
    name,
    status,
    created_by,
    owner_user_id,
    agent_id,
    data,
    is_visible
   FROM ( SELECT node.tenant_id,
            node.id,
            node.created_at,
            node.modified_at,
            node.seq,
            node.version,
            node.is_archived,
            node.context_id,
            node.external_id,
            node.graph_name,
            node.general_type_name,
            node.specific_type_name,
            node.agent_bundle_id,
            node.name,
            node.status,
            node.created_by,
            node.owner_user_id,
            node.agent_id,
            node.data,
            ((node.tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")) AND (NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR entity.in_bounds(node.graph_name, node.agent_bundle_id)), false) IS NOT NULL)) AS is_visible
           FROM entity.node) n
  WHERE is_visible;

ALTER VIEW entity.node_of_tenant OWNER TO contextkeep_owner;

CREATE VIEW entity.node_to_count AS
 SELECT tenant_id,
    graph_name
   FROM entity.node
  WHERE ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")) AND (NULLIF(( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)), false) IS NOT NULL));

ALTER VIEW entity.node_to_count OWNER TO contextkeep_owner;

CREATE TABLE entity.progress (
    tenant_id uuid NOT NULL,
    node_id uuid NOT NULL,
    seq bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    context_id uuid,
    type text NOT NULL,
    status text DEFAULT ''::text NOT NULL,
    sub_type text DEFAULT ''::text NOT NULL,
    message text DEFAULT ''::text NOT NULL,
    value jsonb,
    error jsonb,
    created_by text NOT NULL,
    CONSTRAINT progress_type_check CHECK ((type = ANY (ARRAY['STATUS'::text, 'MESSAGE'::text, 'ERROR'::text, 'BOT_PROGRESS'::text, 'VALUE'::text, 'WAITING'::text])))
);

ALTER TABLE entity.progress OWNER TO contextkeep_owner;

CREATE TABLE entity.request (
    tenant_id uuid NOT NULL,
    request_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    rpc text NOT NULL,
    fingerprint bytea NOT NULL,
    answer jsonb NOT NULL,
    bounds text DEFAULT COALESCE(current_setting('app.bounds'::text, true), ''::text) NOT NULL,
    subject text DEFAULT NULLIF(current_setting('app.subject'::text, true), ''::text)
);

ALTER TABLE entity.request OWNER TO contextkeep_owner;

ALTER TABLE ONLY entity.change_feed
    ADD CONSTRAINT change_feed_pkey PRIMARY KEY (tenant_id);

ALTER TABLE ONLY entity.change
    ADD CONSTRAINT change_pkey PRIMARY KEY (tenant_id, transaction_id, seq);

ALTER TABLE ONLY entity.edge
    ADD CONSTRAINT edge_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY entity.embedding
    ADD CONSTRAINT embedding_pkey PRIMARY KEY (tenant_id, owner_kind, owner_id, name);

ALTER TABLE ONLY entity.erasure
    ADD CONSTRAINT erasure_pkey PRIMARY KEY (tenant_id, erasure_id);

ALTER TABLE ONLY entity.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (version);

ALTER TABLE ONLY entity.node_io
    ADD CONSTRAINT node_io_pkey PRIMARY KEY (tenant_id, node_id);

ALTER TABLE ONLY entity.node
    ADD CONSTRAINT node_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY entity.progress
    ADD CONSTRAINT progress_pkey PRIMARY KEY (tenant_id, node_id, seq);

ALTER TABLE ONLY entity.request
    ADD CONSTRAINT request_pkey PRIMARY KEY (tenant_id, request_id);

CREATE INDEX edge_children ON entity.edge USING btree (tenant_id, from_node_id, edge_type, child_created_at, child_seq) INCLUDE (to_node_id);

CREATE UNIQUE INDEX edge_ends ON entity.edge USING btree (tenant_id, to_node_id, edge_type, from_node_id);

CREATE INDEX edge_newest_below ON entity.edge USING btree (tenant_id, from_node_id, edge_type, newest_below) WHERE ((newest_below > '-infinity'::timestamp with time zone) AND ((edge_type = ANY (ARRAY['Contains'::text, 'InResponseTo'::text])) IS TRUE));

CREATE INDEX edge_type ON entity.edge USING btree (tenant_id, graph_name, edge_type);

CREATE INDEX edge_unknown ON entity.edge USING btree (tenant_id, from_node_id, id) WHERE ((newest_below IS NULL) AND ((edge_type = ANY (ARRAY['Contains'::text, 'InResponseTo'::text])) IS TRUE));

CREATE INDEX embedding_slice ON entity.embedding USING btree (tenant_id, graph_name, name);

CREATE INDEX erasure_finished ON entity.erasure USING btree (tenant_id, finished_at);

CREATE INDEX node_created ON entity.node USING btree (tenant_id, graph_name, created_at, seq);

CREATE INDEX node_data ON entity.node USING gin (data jsonb_path_ops);

CREATE UNIQUE INDEX node_external_id ON entity.node USING btree (tenant_id, graph_name, external_id) WHERE (external_id IS NOT NULL);

CREATE INDEX node_general_type ON entity.node USING btree (tenant_id, graph_name, general_type_name);

CREATE INDEX node_name ON entity.node USING btree (tenant_id, graph_name, name, created_at DESC, seq DESC) WHERE ((name <> ''::text) AND (NOT is_archived));

CREATE INDEX node_specific_type ON entity.node USING btree (tenant_id, graph_name, specific_type_name);

CREATE INDEX request_age ON entity.request USING btree (tenant_id, created_at);

CREATE TRIGGER bounds BEFORE INSERT ON entity.edge FOR EACH ROW WHEN (((COALESCE(current_setting('app.bounds'::text, true), ''::text) <> ''::text) AND (new.child_seq IS NOT NULL))) EXECUTE FUNCTION entity.refuse_edge_out_of_bounds();

CREATE TRIGGER edges_bounded AFTER INSERT ON entity.edge REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN ((COALESCE(current_setting('app.moving'::text, true), ''::text) = ''::text)) EXECUTE FUNCTION entity.bound_edges();

CREATE TRIGGER edges_changed_noted AFTER UPDATE OF data ON entity.edge FOR EACH ROW WHEN ((COALESCE(current_setting('app.moving'::text, true), ''::text) = ''::text)) EXECUTE FUNCTION entity.note_edge();

CREATE TRIGGER edges_removed_noted AFTER DELETE ON entity.edge REFERENCING OLD TABLE AS changed FOR EACH STATEMENT WHEN ((COALESCE(current_setting('app.moving'::text, true), ''::text) = ''::text)) EXECUTE FUNCTION entity.note_edges();

CREATE TRIGGER edges_written_noted AFTER INSERT ON entity.edge REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN ((COALESCE(current_setting('app.moving'::text, true), ''::text) = ''::text)) EXECUTE FUNCTION entity.note_edges();

CREATE TRIGGER io_changed_noted AFTER UPDATE ON entity.node_io REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN ((COALESCE(current_setting('app.moving'::text, true), ''::text) = ''::text)) EXECUTE FUNCTION entity.note_nodes_of_io();

CREATE TRIGGER io_written_noted AFTER INSERT ON entity.node_io REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN ((COALESCE(current_setting('app.moving'::text, true), ''::text) = ''::text)) EXECUTE FUNCTION entity.note_nodes_of_io();

CREATE TRIGGER nodes_changed_noted AFTER UPDATE ON entity.node REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN ((COALESCE(current_setting('app.moving'::text, true), ''::text) = ''::text)) EXECUTE FUNCTION entity.note_nodes();

CREATE TRIGGER nodes_removed_noted AFTER DELETE ON entity.node REFERENCING OLD TABLE AS changed FOR EACH STATEMENT WHEN ((COALESCE(current_setting('app.moving'::text, true), ''::text) = ''::text)) EXECUTE FUNCTION entity.note_nodes();

CREATE TRIGGER nodes_written_noted AFTER INSERT ON entity.node REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN ((COALESCE(current_setting('app.moving'::text, true), ''::text) = ''::text)) EXECUTE FUNCTION entity.note_nodes();

CREATE TRIGGER numbered BEFORE INSERT ON entity.change FOR EACH ROW WHEN ((new.seq IS NULL)) EXECUTE FUNCTION access.number_row();

CREATE TRIGGER numbered BEFORE INSERT ON entity.node FOR EACH ROW WHEN ((new.seq IS NULL)) EXECUTE FUNCTION access.number_row();

CREATE TRIGGER numbered BEFORE INSERT ON entity.progress FOR EACH ROW WHEN ((new.seq IS NULL)) EXECUTE FUNCTION access.number_row();

ALTER TABLE ONLY entity.edge
    ADD CONSTRAINT edge_tenant_id_from_node_id_fkey FOREIGN KEY (tenant_id, from_node_id) REFERENCES entity.node(tenant_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY entity.edge
    ADD CONSTRAINT edge_tenant_id_to_node_id_fkey FOREIGN KEY (tenant_id, to_node_id) REFERENCES entity.node(tenant_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY entity.node_io
    ADD CONSTRAINT node_io_tenant_id_node_id_fkey FOREIGN KEY (tenant_id, node_id) REFERENCES entity.node(tenant_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY entity.progress
    ADD CONSTRAINT progress_tenant_id_node_id_fkey FOREIGN KEY (tenant_id, node_id) REFERENCES entity.node(tenant_id, id) ON DELETE CASCADE;

CREATE POLICY bounds ON entity.change AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR (entity.in_bounds(graph_name, agent_bundle_id) AND entity.in_bounds(graph_name, to_agent_bundle_id))), false) IS NOT NULL)) WITH CHECK ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR entity.graph_in_bounds(graph_name)), false) IS NOT NULL));

CREATE POLICY bounds ON entity.change_feed AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR entity.knows_bounds((current_setting('app.bounds'::text))::jsonb)), false) IS NOT NULL)) WITH CHECK ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds ON entity.edge AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR entity.in_bounds_of_nodes(graph_name, VARIADIC ARRAY[from_node_id, to_node_id])), false) IS NOT NULL)) WITH CHECK ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR entity.graph_in_bounds(graph_name)), false) IS NOT NULL));

CREATE POLICY bounds ON entity.embedding AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR entity.in_bounds_of_nodes(graph_name, VARIADIC ARRAY[owner_id])), false) IS NOT NULL));

CREATE POLICY bounds ON entity.erasure AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds ON entity.node AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR entity.in_bounds(graph_name, agent_bundle_id)), false) IS NOT NULL));

CREATE POLICY bounds ON entity.node_io AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR entity.sees_node(node_id)), false) IS NOT NULL));

CREATE POLICY bounds ON entity.progress AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR entity.sees_node(node_id)), false) IS NOT NULL));

CREATE POLICY bounds ON entity.request AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR (bounds = ( SELECT current_setting('app.bounds'::text, true) AS current_setting))), false) IS NOT NULL));

ALTER TABLE entity.change ENABLE ROW LEVEL SECURITY;

ALTER TABLE entity.change_feed ENABLE ROW LEVEL SECURITY;

ALTER TABLE entity.edge ENABLE ROW LEVEL SECURITY;

ALTER TABLE entity.embedding ENABLE ROW LEVEL SECURITY;

ALTER TABLE entity.erasure ENABLE ROW LEVEL SECURITY;

ALTER TABLE entity.node ENABLE ROW LEVEL SECURITY;

ALTER TABLE entity.node_io ENABLE ROW LEVEL SECURITY;

ALTER TABLE entity.progress ENABLE ROW LEVEL SECURITY;

ALTER TABLE entity.request ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON entity.change USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON entity.change_feed USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON entity.edge USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON entity.embedding USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON entity.erasure USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON entity.node USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON entity.node_io USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON entity.progress USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON entity.request USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

GRANT USAGE ON SCHEMA entity TO contextkeep_service;

REVOKE ALL ON FUNCTION entity.analyze_new_tables() FROM PUBLIC;
GRANT ALL ON FUNCTION entity.analyze_new_tables() TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE entity.edge TO contextkeep_service;

REVOKE ALL ON FUNCTION entity.settle_edges(edges_max integer, before_node_id uuid, before_id uuid, OUT looked_at integer, OUT settled integer, OUT last_node_id uuid, OUT last_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION entity.settle_edges(edges_max integer, before_node_id uuid, before_id uuid, OUT looked_at integer, OUT settled integer, OUT last_node_id uuid, OUT last_id uuid) TO contextkeep_service;

GRANT SELECT,INSERT,DELETE ON TABLE entity.change TO contextkeep_service;

GRANT UPDATE(general_type_name) ON TABLE entity.change TO contextkeep_service;

GRANT UPDATE(specific_type_name) ON TABLE entity.change TO contextkeep_service;

GRANT SELECT,INSERT,UPDATE ON TABLE entity.change_feed TO contextkeep_service;

GRANT SELECT ON TABLE entity.edge_to_count TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE entity.embedding TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE entity.erasure TO contextkeep_service;

GRANT SELECT ON TABLE entity.migration TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE entity.node TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE entity.node_io TO contextkeep_service;

GRANT SELECT ON TABLE entity.node_of_tenant TO contextkeep_service;

GRANT SELECT ON TABLE entity.node_to_count TO contextkeep_service;

GRANT SELECT,INSERT,DELETE ON TABLE entity.progress TO contextkeep_service;

GRANT UPDATE(created_by) ON TABLE entity.progress TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE entity.request TO contextkeep_service;
