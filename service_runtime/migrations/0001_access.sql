-- Tenants, keys, and which rows a transaction sees. Both services have this schema: the first to migrate makes it.

-- Policies
-- --------
-- Row-level security says which rows a transaction sees. The service sets, for the transaction:
--
--   app.tenant   the id of the tenant.
--   app.context  the id of the context that a statement is about; '*' for all contexts.
--   app.subject  '=' and the id of the user for whom the call is ('=' alone: no user); '*' for all users.
--   app.bounds   JSON with everything that the key is bound to, such as {"graph_names": ["a"]}; '' or not set: nothing.
--
-- Only named statements set '*' (`Across` in service_runtime/postgres). A setting that is missing, or '' because it was
-- set and its transaction is over, hides all rows; only bounds are different: a key without bounds sees all rows.

-- The kinds of policies and the SQL text of each, which is written nowhere else. The policy `tenant` lets rows in; the
-- others only take rows away (they are restrictive).
--
-- `nullif(…, false) IS NOT NULL` means `IS TRUE`, but the planner expects nearly all rows to pass it: so the plans of keys
-- without bounds do not change because other keys have some. Sub-selects are evaluated once a statement, and functions of
-- bounds are only called for keys that have bounds.
CREATE FUNCTION access.policy_kinds()
RETURNS TABLE (kind text, policy text, command text, condition text, write_condition text)
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $policies$
WITH kinds (kind, policy, command, condition, write_condition) AS (VALUES
    -- Rows of the tenant of the transaction.
    ('tenant', 'tenant', 'ALL',
        $$tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid)$$, NULL),

    -- Rows of the context that the statement names.
    ('context', 'context', 'ALL',
        $$(SELECT access.sees_all_contexts()) OR context_id = (SELECT access.context_seen())$$, NULL),
    -- Rows that may belong to a context: those without one are seen whatever the statement names.
    ('context_if_any', 'context', 'ALL',
        $$(SELECT access.sees_all_contexts()) OR context_id IS NULL OR context_id = (SELECT access.context_seen())$$,
        NULL),

    -- Rows of the user for whom the call is, and rows without an owner.
    ('subject', 'subject', 'ALL',
        $$(SELECT access.sees_all_subjects()) OR owner_user_id = ANY ((SELECT access.owners_seen())::text[])$$, NULL),

    -- Rows of a context: keys may be bound to it or to one above it, to an agent bundle and to apps.
    ('bounds:context', 'bounds', 'ALL', $$access.context_in_bounds(ancestors, agent_bundle_id, app_id)$$, NULL),
    -- Rows with a graph, an agent bundle and an app, such as records.
    ('bounds:graph', 'bounds', 'ALL', $$context.in_bounds(graph_name, agent_bundle_id, app_id)$$, NULL),
    -- Rows of users, such as memories: they are in no graph, so a key of a graph sees none.
    ('bounds:user', 'bounds', 'ALL', $$context.in_bounds('', agent_bundle_id, app_id)$$, NULL),
    -- Passages: those of a context as its rows, all others as rows with a graph.
    ('bounds:passage', 'bounds', 'ALL',
        $$context.passage_in_bounds(context_id, ancestors, graph_name, agent_bundle_id, app_id)$$, NULL),
    -- Uploads, as the record that each of them becomes.
    ('bounds:upload', 'bounds', 'ALL',
        $$context.in_bounds(coalesce(nullif(record ->> 'graph_name', ''), 'default'), record ->> 'agent_bundle_id',
            record ->> 'app_id')$$, NULL),
    -- Parts, as their upload.
    ('bounds:upload_part', 'bounds', 'ALL', $$context.sees_upload(upload_id)$$, NULL),
    -- The log of a record, as the record. When a record is purged, keys with the bounds of the key that purged it see the
    -- last entry, so that a repeated purge is answered as the first one. Writing needs no condition: the statement that
    -- changes the record writes the entry.
    ('bounds:action', 'bounds', 'SELECT',
        $$context.sees_record(record_id) OR (kind = 'purged' AND bounds = current_setting('app.bounds', true))$$, NULL),

    -- Rows that a key wrote for itself, such as answers to its requests: only keys with the same bounds see them.
    ('bounds:same', 'bounds', 'ALL', $$bounds = (SELECT current_setting('app.bounds', true))$$, NULL),
    -- Rows of the whole tenant. Bounds that this version does not know hide them.
    ('bounds:known', 'bounds', 'ALL',
        $$(SELECT context.knows_bounds(nullif(current_setting('app.bounds', true), '')::jsonb))$$, NULL),
    -- Rows of administrators: keys with bounds neither see nor write them.
    ('bounds:hidden', 'bounds', 'ALL', $$false$$, NULL),

    -- Rows that every key of the tenant may read …
    ('bounds:read', 'bounds', 'SELECT',
        $$(SELECT context.knows_bounds(nullif(current_setting('app.bounds', true), '')::jsonb))$$, NULL),
    -- … or only keys of the app, where a row has one.
    ('bounds:read_app', 'bounds', 'SELECT',
        $$(app_id = '' AND (SELECT context.knows_bounds(nullif(current_setting('app.bounds', true), '')::jsonb)))
            OR context.app_in_bounds(app_id)$$, NULL),
    -- Rows that only keys without bounds may write …
    ('bounds:write', 'bounds_of_insert', 'INSERT', NULL, $$false$$),
    ('bounds:write', 'bounds_of_update', 'UPDATE', $$false$$, NULL),
    ('bounds:write', 'bounds_of_delete', 'DELETE', $$false$$, NULL),
    -- … or keys that are bound to the app of the row, or to no app.
    ('bounds:write_app', 'bounds_of_insert', 'INSERT', NULL, $$context.app_in_bounds(app_id)$$),
    ('bounds:write_app', 'bounds_of_update', 'UPDATE', $$context.app_in_bounds(app_id)$$, NULL),
    ('bounds:write_app', 'bounds_of_delete', 'DELETE', $$context.app_in_bounds(app_id)$$, NULL),

    -- Nodes, by their graph and agent bundle.
    ('bounds:node', 'bounds', 'ALL', $$entity.in_bounds(graph_name, agent_bundle_id)$$, NULL),
    -- Rows of a node, as the node.
    ('bounds:of_node', 'bounds', 'ALL', $$entity.sees_node(node_id)$$, NULL),
    -- Edges: both nodes must be in the bounds. For new edges a trigger checks that: their nodes may be new, too.
    ('bounds:edge', 'bounds', 'ALL',
        $$entity.in_bounds_of_nodes(graph_name, from_node_id, to_node_id)$$, $$entity.graph_in_bounds(graph_name)$$),
    -- Embeddings, as the node that owns them.
    ('bounds:embedding', 'bounds', 'ALL', $$entity.in_bounds_of_nodes(graph_name, owner_id)$$, NULL),
    -- Changes, by the agent bundles of both nodes. What may be written was checked with the node or the edge.
    ('bounds:change', 'bounds', 'ALL',
        $$(entity.in_bounds(graph_name, agent_bundle_id) AND entity.in_bounds(graph_name, to_agent_bundle_id))$$,
        $$entity.graph_in_bounds(graph_name)$$),
    -- The state of the feed: keys with known bounds read it, only keys without bounds switch it.
    ('bounds:change_feed', 'bounds', 'ALL', $$entity.knows_bounds(current_setting('app.bounds')::jsonb)$$, $$false$$),

    -- For views: only keys without bounds see rows. It needs no column, so that an index alone can be counted.
    ('unbound', 'bounds', 'ALL', $$$$, NULL)
)
SELECT k.kind, k.policy, k.command, replace(w.is_true, '…', k.condition), replace(w.is_true, '…', k.write_condition)
FROM kinds k, LATERAL (
    SELECT CASE
        WHEN k.kind = 'tenant' THEN '…'
        WHEN k.kind = 'unbound'
            THEN $$nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')…, false) IS NOT NULL$$
        WHEN k.kind LIKE 'bounds:%'
            THEN $$nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR …, false) IS NOT NULL$$
        ELSE 'nullif(…, false) IS NOT NULL'
    END
) w (is_true)
$policies$;

-- Switch on row-level security of a table, with policies of these kinds.
CREATE FUNCTION access.policy(of_table regclass, VARIADIC kinds text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    unknown text;
    made record;
BEGIN
    SELECT k INTO unknown FROM unnest(kinds) k WHERE k NOT IN (SELECT p.kind FROM access.policy_kinds() p);
    IF FOUND OR NOT 'tenant' = ANY (kinds) THEN
        RAISE EXCEPTION 'no policies for %: %', of_table,
            coalesce('there is no kind ' || unknown, 'the kind tenant is missing');
    END IF;
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', of_table);
    FOR made IN SELECT * FROM access.policy_kinds() p WHERE p.kind = ANY (kinds) LOOP
        EXECUTE format('CREATE POLICY %I ON %s AS %s FOR %s', made.policy, of_table,
            CASE made.policy WHEN 'tenant' THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END, made.command)
            || coalesce(' USING (' || made.condition || ')', '')
            || coalesce(' WITH CHECK (' || made.write_condition || ')', '');
    END LOOP;
END
$$;

-- Make a view in whose definition `{kind}` is the condition of that kind. Below a policy Postgres uses no index for an
-- operator that is not leakproof (jsonb, LIKE, full text, vectors). A view of the tables' owner with the same condition
-- hides the same rows, and the indexes serve.
CREATE FUNCTION access.policy_view(name text, definition text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known record;
BEGIN
    FOR known IN SELECT p.kind, p.condition FROM access.policy_kinds() p WHERE p.command = 'ALL' LOOP
        definition := replace(definition, '{' || known.kind || '}', known.condition);
    END LOOP;
    IF definition ~ '[{}]' THEN
        RAISE EXCEPTION 'a kind in the definition of % is not known: %', name, definition;
    END IF;
    EXECUTE format('CREATE VIEW %s AS %s', name, definition);
END
$$;

REVOKE ALL ON FUNCTION access.policy_kinds, access.policy, access.policy_view FROM PUBLIC;

-- A database that has all the migrations of the series below has everything that follows, and is only marked.
-- replaces the migrations of commit cb91463a: access 19, context 73, entity 17
-- sha256 of the first: ad8db21f2c5e42f974cefd3ca7a17a539a5e26e8ff045c7052bc65f0bb31e37c
-- sha256 of all: da215cfeeaf5c387afbb90295b383ffa00ec163c8015140b145eace6d1c0161b

GRANT USAGE ON SCHEMA access TO :"service_role";


-- What a transaction sees
-- -----------------------

-- What the settings of the transaction let it see. If a setting is missing, these functions return null or false, and
-- the policies that ask them hide every row.
CREATE FUNCTION access.sees_all_contexts() RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE RETURN coalesce(current_setting('app.context', true) = '*', false);

CREATE FUNCTION access.context_seen() RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN NOT access.sees_all_contexts() THEN nullif(current_setting('app.context', true), '')::uuid END;

CREATE FUNCTION access.sees_all_subjects() RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE RETURN coalesce(current_setting('app.subject', true) = '*', false);

CREATE FUNCTION access.owners_seen() RETURNS text[]
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
    WHEN starts_with(current_setting('app.subject', true), '=')
    THEN ARRAY['', substr(current_setting('app.subject', true), 2)]
END;

-- Whether a context is within the bounds of the key: the context itself or one above it, an agent bundle, apps. A
-- context is in no graph, so a key that is bound to graphs sees none.
CREATE FUNCTION access.context_in_bounds(ancestors uuid[], agent_bundle_id text, app_id text) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    bounds jsonb := current_setting('app.bounds')::jsonb;
BEGIN
    RETURN bounds - '{context_id,agent_bundle_id,app_ids}'::text[] = '{}'
        AND coalesce((bounds ->> 'context_id')::uuid = ANY (ancestors), NOT bounds ? 'context_id')
        AND coalesce(bounds ->> 'agent_bundle_id' = agent_bundle_id, NOT bounds ? 'agent_bundle_id')
        AND coalesce((bounds -> 'app_ids') ? app_id, NOT bounds ? 'app_ids');
END
$$;


-- Numbers of a tenant's rows
-- --------------------------

ALTER DEFAULT PRIVILEGES IN SCHEMA access GRANT USAGE ON SEQUENCES TO :"service_role";

-- Each tenant has its own sequence, and all its numbered rows draw from it. So `seq` does not tell how much other
-- tenants write, and an import or a move of one tenant changes no other tenant's numbers. With a counter in a row, the
-- writers of a tenant would wait for each other's commits.
--
-- Return the sequence of a tenant; make it if it is missing. Calls that come meanwhile wait for that transaction.
CREATE FUNCTION access.numbers_of(of_tenant uuid) RETURNS regclass
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    name CONSTANT text := 'numbers_' || replace(of_tenant::text, '-', '');
    numbers regclass := to_regclass('access.' || name);
BEGIN
    IF numbers IS NULL THEN
        PERFORM pg_advisory_xact_lock(1634493816, uuid_hash(of_tenant));
        -- At most 2^53 - 1: a whole number of any client.
        EXECUTE format('CREATE SEQUENCE IF NOT EXISTS access.%I MAXVALUE 9007199254740991', name);
        numbers := to_regclass('access.' || name);
    END IF;
    RETURN numbers;
END
$$;
REVOKE ALL ON FUNCTION access.numbers_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.numbers_of TO :"service_role";

-- Number a row that has no number yet. This runs for each row, so it runs as the services' role and without settings of
-- its own.
CREATE FUNCTION access.number_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.seq := nextval(coalesce(
        to_regclass('access.numbers_' || replace(NEW.tenant_id::text, '-', '')), access.numbers_of(NEW.tenant_id)
    ));
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION access.number_row FROM PUBLIC;

-- Let the next rows of a tenant get numbers higher than `seq`. The step is wider than the tenant draws between reading
-- the sequence and setting it, so numbers never go back.
CREATE FUNCTION access.number_behind(of_tenant uuid, seq bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    numbers CONSTANT regclass := access.numbers_of(of_tenant);
    reached bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(1634493816, uuid_hash(of_tenant));
    EXECUTE format('SELECT last_value FROM %s', numbers) INTO reached;
    IF reached < seq THEN
        PERFORM setval(numbers, seq + 10000);
    END IF;
END
$$;
REVOKE ALL ON FUNCTION access.number_behind FROM PUBLIC;


-- Tenants
-- -------

-- The tenants. The home database has the keys, all tenants, and the database in which each tenant lives. Every other
-- database has the same schemas and the rows of the tenants that live there. A tenant lives in one database.
CREATE TABLE access.tenant (
    id uuid PRIMARY KEY,
    name text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- The name of the database where the tenant lives, as in DATABASE_URLS; null: the home database. Services keep it
    -- for some seconds, so it may be old: each database has its own list of the tenants that live there.
    database text CHECK (database <> '')
);
CREATE INDEX tenant_elsewhere ON access.tenant (database) WHERE database IS NOT NULL;
GRANT SELECT ON access.tenant TO :"service_role";

-- Make the sequence with the tenant, so that no first write waits for another one.
CREATE FUNCTION access.number_tenant() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM access.numbers_of(NEW.id);
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION access.number_tenant FROM PUBLIC;

CREATE TRIGGER numbered AFTER INSERT ON access.tenant FOR EACH ROW EXECUTE FUNCTION access.number_tenant();

-- The name of this database, in one row. The home database has no name and no row.
CREATE TABLE access.this_database (
    name text PRIMARY KEY CHECK (name <> ''),
    is_this boolean NOT NULL DEFAULT true UNIQUE CHECK (is_this)
);
GRANT SELECT ON access.this_database TO :"service_role";

-- The tenants that live in this database. A tenant without a row lives in the home database.
CREATE TABLE access.residence (
    tenant_id uuid PRIMARY KEY,
    -- LEAVING: calls may read until `until`, but not write; after that the tenant stays, because the process that moved
    -- it is gone. ARRIVING, GONE: calls are refused.
    state text NOT NULL CHECK (state IN ('ARRIVING', 'HERE', 'LEAVING', 'GONE')),
    until timestamptz,
    changed_at timestamptz NOT NULL DEFAULT now(),
    -- When the rows of a tenant that lives elsewhere were removed from this database. Until then a copy stays that no
    -- erasure reaches.
    cleaned_at timestamptz,
    CHECK ((until IS NOT NULL) = (state = 'LEAVING'))
);
GRANT SELECT ON access.residence TO :"service_role";

-- Let a tenant stay that was to leave, if the process that moves it was not heard of in time. Return whether the tenant
-- lives here now.
CREATE FUNCTION access.stay(of_tenant uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- Whoever moves it locks the same row to say GONE: one of both is first, and the other one sees it.
    UPDATE access.residence r SET state = 'HERE', until = NULL, changed_at = now()
    WHERE r.tenant_id = of_tenant AND r.state = 'LEAVING' AND r.until < clock_timestamp();
    RETURN EXISTS (SELECT FROM access.residence r WHERE r.tenant_id = of_tenant AND r.state = 'HERE');
END
$$;
REVOKE ALL ON FUNCTION access.stay FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.stay TO :"service_role";

-- Whether a tenant lives in this database; a tenant that is leaving still does.
CREATE FUNCTION access.lives_here(of_tenant uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT coalesce(
        (SELECT r.state IN ('HERE', 'LEAVING') FROM access.residence r WHERE r.tenant_id = of_tenant),
        NOT EXISTS (SELECT FROM access.this_database)
    )
$$;
REVOKE ALL ON FUNCTION access.lives_here FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.lives_here TO :"service_role";

-- Return the id of a tenant that calls may enter though it is not HERE, or refuse: it does not live in this database. A
-- tenant that is HERE needs no function: service_runtime/postgres/tenant.py checks that itself, in the statement that
-- begins each transaction. There it takes a shared advisory lock of the tenant, so that a mover knows which calls to
-- wait for.
CREATE FUNCTION access.enter(of_tenant uuid) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    does_live_here boolean;
    leaves_at timestamptz;
BEGIN
    -- Both in one statement: between two the tenant may be gone.
    SELECT access.lives_here(of_tenant), r.until INTO does_live_here, leaves_at
    FROM (VALUES (of_tenant)) asked (tenant_id) LEFT JOIN access.residence r USING (tenant_id);
    IF does_live_here AND leaves_at IS NULL THEN
        RETURN of_tenant::text;
    ELSIF does_live_here AND (leaves_at > clock_timestamp() OR current_setting('transaction_read_only') = 'on') THEN
        PERFORM set_config('transaction_read_only', 'on', true);
        RETURN of_tenant::text;
    ELSIF does_live_here AND access.stay(of_tenant) THEN
        RETURN of_tenant::text;
    END IF;
    RAISE SQLSTATE 'CK001' USING MESSAGE = 'the tenant does not live in this database';
END
$$;
REVOKE ALL ON FUNCTION access.enter FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.enter TO :"service_role";

-- A tenant on its way into this database, and how far it is. A mover that starts again continues from here; its last
-- step deletes the row.
CREATE TABLE access.move (
    tenant_id uuid PRIMARY KEY,
    -- The name of the database where the tenant still lives; '' is the home database.
    source text NOT NULL,
    -- The oldest transaction that ran in the source when copying began. Rows written since then are copied again.
    horizon text NOT NULL,
    -- By table, the key of the last row of the first copy; null: the table is copied.
    copied jsonb NOT NULL DEFAULT '{}',
    -- Every row is here, provided that the source has said GONE since.
    is_whole boolean NOT NULL DEFAULT false,
    started_at timestamptz NOT NULL DEFAULT now()
);

-- The tenant of a single-tenant deployment; its id is a constant of `service_runtime.auth`.
INSERT INTO access.tenant (id, name) VALUES ('00000000-0000-7000-8000-000000000001', 'default');
INSERT INTO access.residence (tenant_id, state) SELECT id, 'HERE' FROM access.tenant;


-- Keys
-- ----

-- What a key can do: it may pass on a part of it.
CREATE TYPE access.reach AS (
    tenant_id uuid, scopes text[], user_id text, app_ids text[], agent_bundle_id text, graph_names text[],
    expires_at timestamptz
);

-- Keys. A call finds its key by hash before its tenant is known, so the key is not led by the tenant and no policy
-- applies.
--
-- The services read keys and note their use. They write no other column here, and do not read keys of contexts: the
-- functions below do, as the owner. These believe what the service says about which key asks, and nothing else: they
-- read for themselves whether it is valid, of which tenant it is, and what it may pass on.
CREATE TABLE access.api_key (
    id uuid PRIMARY KEY,
    -- Of the whole key. It is 256 random bits, so a slow hash would protect nothing more.
    key_sha256 bytea NOT NULL UNIQUE,
    -- The first characters, shown in lists and logs.
    prefix text NOT NULL,
    tenant_id uuid NOT NULL REFERENCES access.tenant (id),
    -- The holder; rows keep it as `created_by`.
    subject text NOT NULL,
    scopes text[] NOT NULL,
    user_id text NOT NULL DEFAULT '',
    agent_id text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    -- Precise to the minute.
    last_used_at timestamptz,
    -- The bounds of the key: apps, an agent bundle, graphs. Empty: not bound.
    app_ids text[] NOT NULL DEFAULT '{}',
    agent_bundle_id text NOT NULL DEFAULT '',
    graph_names text[] NOT NULL DEFAULT '{}',
    -- The key that made this one; null: an operator made it.
    parent_id uuid REFERENCES access.api_key (id),
    -- `delegate` allows to name the user of a call. `operator` allows calls about all tenants: only the command line
    -- gives it, to keys without bounds.
    CHECK (scopes <@ ARRAY['read', 'write', 'admin', 'delegate', 'context:read', 'compile', 'operator'] AND
        cardinality(scopes) > 0),
    CONSTRAINT api_key_operator_check CHECK (NOT 'operator' = ANY (scopes) OR (user_id = '' AND app_ids = '{}' AND
        agent_bundle_id = '' AND graph_names = '{}'))
);
CREATE INDEX api_key_tenant ON access.api_key (tenant_id, created_at);
GRANT SELECT ON access.api_key TO :"service_role";
GRANT UPDATE (last_used_at) ON access.api_key TO :"service_role";

-- Return the key that asks, if it is valid and of the transaction's tenant; refuse otherwise.
CREATE FUNCTION access.asking_key(asking_id uuid) RETURNS access.api_key
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking access.api_key;
BEGIN
    SELECT k.* INTO asking FROM access.api_key k
    WHERE k.id = asking_id AND k.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid
        AND k.revoked_at IS NULL AND coalesce(k.expires_at > now(), true);
    IF NOT FOUND THEN
        RAISE insufficient_privilege USING MESSAGE = 'key refused';
    END IF;
    RETURN asking;
END
$$;
REVOKE ALL ON FUNCTION access.asking_key FROM PUBLIC;

CREATE FUNCTION access.reach_of(of_key access.api_key) RETURNS access.reach
LANGUAGE sql IMMUTABLE
RETURN ROW(of_key.tenant_id, of_key.scopes, of_key.user_id, of_key.app_ids, of_key.agent_bundle_id, of_key.graph_names,
    of_key.expires_at)::access.reach;
REVOKE ALL ON FUNCTION access.reach_of FROM PUBLIC;

-- Whether one reach is a part of another one, or equal. A null in either is outside.
CREATE FUNCTION access.is_within(part access.reach, whole access.reach) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN coalesce(
    part.tenant_id = whole.tenant_id
    AND part.scopes <@ (whole.scopes || CASE WHEN 'read' = ANY (whole.scopes) THEN ARRAY['context:read'] ELSE '{}' END)
    AND cardinality(part.scopes) > 0
    AND (part.user_id = whole.user_id OR (part.user_id <> '' AND whole.user_id = '' AND 'delegate' = ANY (whole.scopes)))
    AND (whole.app_ids = '{}' OR (part.app_ids <> '{}' AND part.app_ids <@ whole.app_ids))
    AND whole.agent_bundle_id IN ('', part.agent_bundle_id)
    AND (whole.graph_names = '{}' OR (part.graph_names <> '{}' AND part.graph_names <@ whole.graph_names))
    AND coalesce(part.expires_at, 'infinity') <= coalesce(whole.expires_at, 'infinity'),
    false
);
REVOKE ALL ON FUNCTION access.is_within FROM PUBLIC;

-- Make a key that is a part of a key with the scope `admin`. It stays valid when that key is revoked. No key passes on
-- the scope `operator`; and only a key that has this scope lists or revokes keys that have it.
CREATE FUNCTION access.make_key(
    asking_id uuid, new_id uuid, sha256 bytea, new_prefix text, new_subject text, new_scopes text[], new_user_id text,
    new_agent_id text, new_app_ids text[], new_agent_bundle_id text, new_graph_names text[], new_expires_at timestamptz
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking CONSTANT access.api_key := access.asking_key(asking_id);
    wanted CONSTANT access.reach := ROW(asking.tenant_id, new_scopes, new_user_id, new_app_ids, new_agent_bundle_id,
        new_graph_names, new_expires_at);
BEGIN
    IF 'operator' = ANY (new_scopes)
        OR NOT ('admin' = ANY (asking.scopes) AND access.is_within(wanted, access.reach_of(asking))) THEN
        RAISE insufficient_privilege USING MESSAGE = 'key refused';
    END IF;
    INSERT INTO access.api_key (
        id, key_sha256, prefix, tenant_id, parent_id, subject, scopes, user_id, agent_id, app_ids, agent_bundle_id,
        graph_names, expires_at
    )
    VALUES (new_id, sha256, new_prefix, asking.tenant_id, asking.id, new_subject, new_scopes, new_user_id, new_agent_id,
        new_app_ids, new_agent_bundle_id, new_graph_names, new_expires_at);
END
$$;
REVOKE ALL ON FUNCTION access.make_key FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.make_key TO :"service_role";

-- Refuse callers that are not operators. In the home database: unless the key is valid, of the transaction's tenant,
-- and has the scope `operator`. Other databases have no keys: there the transaction names the operator's key as it
-- names its tenant, after the home database was asked (`Database.operating`).
CREATE FUNCTION access.check_operator(asking_id uuid) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking access.api_key;
BEGIN
    IF EXISTS (SELECT FROM access.this_database) THEN
        IF coalesce(current_setting('app.operator', true) = asking_id::text, false) THEN
            RETURN;
        END IF;
        RAISE insufficient_privilege USING MESSAGE = 'key refused';
    END IF;
    asking := access.asking_key(asking_id);
    IF NOT 'operator' = ANY (asking.scopes) THEN
        RAISE insufficient_privilege USING MESSAGE = 'key refused';
    END IF;
END
$$;
REVOKE ALL ON FUNCTION access.check_operator FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.check_operator TO :"service_role";

-- Keys of one context. They are short-lived and end with the key that made them at the latest. They do not count as
-- keys when a development server asks whether there are any.
CREATE TABLE access.context_key (
    id uuid PRIMARY KEY,
    key_sha256 bytea NOT NULL UNIQUE,
    prefix text NOT NULL,
    tenant_id uuid NOT NULL,
    -- Null: no key in Postgres made it, but a token, the key of the environment, or a caller without a key in
    -- development.
    parent_id uuid REFERENCES access.api_key (id),
    context_id uuid NOT NULL,
    subject text NOT NULL,
    scopes text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'write'] AND cardinality(scopes) > 0),
    user_id text NOT NULL,
    agent_id text NOT NULL,
    -- The bounds of the key that made it: they hold for this key, too.
    app_ids text[] NOT NULL,
    agent_bundle_id text NOT NULL,
    graph_names text[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    CHECK (expires_at <= created_at + CASE WHEN parent_id IS NULL THEN interval '1 hour' ELSE interval '1 day' END)
);
CREATE INDEX context_key_context ON access.context_key (tenant_id, context_id);
CREATE INDEX context_key_expiry ON access.context_key (expires_at);

-- Find a valid key by its hash. `bounds` has everything that the key is bound to: a service that does not know one of
-- the names hides every row from it.
CREATE FUNCTION access.find_key(sha256 bytea) RETURNS TABLE (
    id uuid, is_of_context boolean, tenant_id uuid, subject text, scopes text[], user_id text, agent_id text, bounds jsonb,
    last_used_at timestamptz
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT k.id, false, k.tenant_id, k.subject, k.scopes, k.user_id, k.agent_id,
        jsonb_build_object('app_ids', k.app_ids, 'agent_bundle_id', k.agent_bundle_id, 'graph_names', k.graph_names),
        k.last_used_at
    FROM access.api_key k
    WHERE k.key_sha256 = sha256 AND k.revoked_at IS NULL AND coalesce(k.expires_at > now(), true)
    UNION ALL
    SELECT c.id, true, c.tenant_id, c.subject, c.scopes, c.user_id, c.agent_id,
        jsonb_build_object('app_ids', c.app_ids, 'agent_bundle_id', c.agent_bundle_id, 'graph_names', c.graph_names,
            'context_id', c.context_id),
        NULL
    FROM access.context_key c
    WHERE c.key_sha256 = sha256 AND c.revoked_at IS NULL AND c.expires_at > now() AND (c.parent_id IS NULL OR EXISTS (
        SELECT FROM access.api_key k
        WHERE k.id = c.parent_id AND k.revoked_at IS NULL AND coalesce(k.expires_at > now(), true)
    ));
END;
REVOKE ALL ON FUNCTION access.find_key FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.find_key TO :"service_role";

-- Make a key of a context, for the user of the transaction, and return when it ends: after its lifetime, or earlier
-- with the key that asks. If no key in Postgres asks (`asking_id` is null), it gets the bounds of the transaction and
-- the given subject, scopes and agent. It then ends after one hour at most, or earlier with the token that asks
-- (`said_end`; null: not a token).
CREATE FUNCTION access.make_context_key(
    asking_id uuid, new_id uuid, sha256 bytea, new_prefix text, of_context_id uuid, said_subject text, new_scopes text[],
    said_agent_id text, lifetime interval, said_end timestamptz
) RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    user_id CONSTANT text := CASE
        WHEN starts_with(current_setting('app.subject', true), '=') THEN substr(current_setting('app.subject', true), 2)
    END;
    bounds CONSTANT jsonb := coalesce(nullif(current_setting('app.bounds', true), ''), '{}')::jsonb;
    asking access.api_key;
    whole access.reach;
    wanted access.reach;
BEGIN
    IF asking_id IS NOT NULL THEN
        asking := access.asking_key(asking_id);
        whole := access.reach_of(asking);
    ELSIF bounds - '{app_ids,agent_bundle_id,graph_names}'::text[] = '{}' THEN
        asking.subject := said_subject;
        asking.agent_id := said_agent_id;
        whole := ROW(
            nullif(current_setting('app.tenant', true), '')::uuid, new_scopes, user_id,
            ARRAY(SELECT jsonb_array_elements_text(coalesce(bounds -> 'app_ids', '[]'))),
            coalesce(bounds ->> 'agent_bundle_id', ''),
            ARRAY(SELECT jsonb_array_elements_text(coalesce(bounds -> 'graph_names', '[]'))),
            least(now() + interval '1 hour', said_end));
    END IF;
    wanted := whole;
    wanted.scopes := new_scopes;
    wanted.user_id := user_id;
    wanted.expires_at := least(now() + lifetime, whole.expires_at);
    IF NOT access.is_within(wanted, whole) OR (lifetime <= interval '1 day' AND wanted.expires_at > now()) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'key refused';
    END IF;
    -- Those that are over go as others come.
    DELETE FROM access.context_key c WHERE c.id IN (
        SELECT e.id FROM access.context_key e WHERE e.expires_at < now() - interval '1 hour'
        ORDER BY e.expires_at LIMIT 10 FOR UPDATE SKIP LOCKED
    );
    INSERT INTO access.context_key (
        id, key_sha256, prefix, tenant_id, parent_id, context_id, subject, scopes, user_id, agent_id, app_ids,
        agent_bundle_id, graph_names, expires_at
    )
    VALUES (new_id, sha256, new_prefix, wanted.tenant_id, asking.id, of_context_id, asking.subject, wanted.scopes,
        wanted.user_id, asking.agent_id, wanted.app_ids, wanted.agent_bundle_id, wanted.graph_names, wanted.expires_at);
    RETURN wanted.expires_at;
END
$$;
REVOKE ALL ON FUNCTION access.make_context_key FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.make_context_key TO :"service_role";

-- End the keys of a context that is deleted, in the transaction's tenant, and return their number.
CREATE FUNCTION access.end_context_keys(of_context_id uuid) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH gone AS (
        DELETE FROM access.context_key c
        WHERE c.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND c.context_id = of_context_id
        RETURNING c.id
    )
    SELECT count(*) FROM gone;
END;
REVOKE ALL ON FUNCTION access.end_context_keys FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.end_context_keys TO :"service_role";

-- End the context keys that were made for a user who is erased, or by that user, and return their number.
CREATE FUNCTION access.end_context_keys_of_user(of_user_id text) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH gone AS (
        DELETE FROM access.context_key c
        WHERE c.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid
            AND of_user_id <> '' AND of_user_id IN (c.user_id, c.subject)
        RETURNING c.id
    )
    SELECT count(*) FROM gone;
END;
REVOKE ALL ON FUNCTION access.end_context_keys_of_user FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.end_context_keys_of_user TO :"service_role";

-- Revoke the key with this prefix, if it is a part of a key with the scope `admin`; lifetimes do not count. Return
-- whether there is such a key.
CREATE FUNCTION access.revoke_key(asking_id uuid, of_prefix text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking access.api_key := access.asking_key(asking_id);
    whole access.reach;
    is_found boolean;
BEGIN
    IF NOT 'admin' = ANY (asking.scopes) THEN
        RAISE insufficient_privilege USING MESSAGE = 'key refused';
    END IF;
    asking.expires_at := NULL;
    whole := access.reach_of(asking);
    UPDATE access.api_key k SET revoked_at = coalesce(k.revoked_at, now())
    WHERE k.tenant_id = asking.tenant_id AND k.prefix = of_prefix AND access.is_within(access.reach_of(k), whole);
    is_found := FOUND;
    UPDATE access.context_key c SET revoked_at = coalesce(c.revoked_at, now())
    WHERE c.tenant_id = asking.tenant_id AND c.prefix = of_prefix AND access.is_within(
        ROW(c.tenant_id, c.scopes, c.user_id, c.app_ids, c.agent_bundle_id, c.graph_names, c.expires_at)::access.reach,
        whole);
    RETURN is_found OR FOUND;
END
$$;
REVOKE ALL ON FUNCTION access.revoke_key FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.revoke_key TO :"service_role";

-- List the keys of the tenant within the bounds of the transaction, newest first, without their hashes: keys that
-- operators and administrators made, or the keys of one context.
CREATE FUNCTION access.list_keys(of_context_id uuid, before_id uuid, rows_max integer) RETURNS TABLE (
    id uuid, prefix text, subject text, scopes text[], user_id text, agent_id text, app_ids text[], agent_bundle_id text,
    graph_names text[], context_id uuid, made_by text, created_at timestamptz, expires_at timestamptz, revoked_at timestamptz,
    last_used_at timestamptz
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    of_tenant CONSTANT uuid := nullif(current_setting('app.tenant', true), '')::uuid;
    bounds CONSTANT jsonb := coalesce(nullif(current_setting('app.bounds', true), ''), '{}')::jsonb;
    apps text[];
    bundle text;
    graphs text[];
BEGIN
    IF bounds - '{app_ids,agent_bundle_id,graph_names}'::text[] <> '{}' THEN
        RETURN;
    END IF;
    apps := ARRAY(SELECT jsonb_array_elements_text(coalesce(bounds -> 'app_ids', '[]')));
    bundle := coalesce(bounds ->> 'agent_bundle_id', '');
    graphs := ARRAY(SELECT jsonb_array_elements_text(coalesce(bounds -> 'graph_names', '[]')));
    RETURN QUERY
    SELECT k.id, k.prefix, k.subject, k.scopes, k.user_id, k.agent_id, k.app_ids, k.agent_bundle_id, k.graph_names,
        k.context_id, coalesce(p.prefix, ''), k.created_at, k.expires_at, k.revoked_at, k.last_used_at
    FROM (
        SELECT a.id, a.prefix, a.subject, a.scopes, a.user_id, a.agent_id, a.app_ids, a.agent_bundle_id, a.graph_names,
            NULL::uuid AS context_id, a.parent_id, a.created_at, a.expires_at, a.revoked_at, a.last_used_at
        FROM access.api_key a
        WHERE of_context_id IS NULL AND a.tenant_id = of_tenant
        UNION ALL
        SELECT c.id, c.prefix, c.subject, c.scopes, c.user_id, c.agent_id, c.app_ids, c.agent_bundle_id, c.graph_names,
            c.context_id, c.parent_id, c.created_at, c.expires_at, c.revoked_at, NULL
        FROM access.context_key c
        WHERE c.tenant_id = of_tenant AND c.context_id = of_context_id
    ) k LEFT JOIN access.api_key p ON p.id = k.parent_id
    WHERE (before_id IS NULL OR k.id < before_id)
        AND (apps = '{}' OR (k.app_ids <> '{}' AND k.app_ids <@ apps))
        AND bundle IN ('', k.agent_bundle_id)
        AND (graphs = '{}' OR (k.graph_names <> '{}' AND k.graph_names <@ graphs))
    ORDER BY k.id DESC LIMIT rows_max;
END
$$;
REVOKE ALL ON FUNCTION access.list_keys FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.list_keys TO :"service_role";

-- Tell a caller about its own key: the services' role cannot read the table of keys of contexts.
CREATE FUNCTION access.key_of_caller(key_id uuid) RETURNS TABLE (tenant text, prefix text, expires_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT coalesce(t.name, ''), coalesce(k.prefix, c.prefix, ''), coalesce(k.expires_at, c.expires_at)
    FROM (SELECT nullif(current_setting('app.tenant', true), '')::uuid AS tenant_id) asking
    LEFT JOIN access.tenant t ON t.id = asking.tenant_id
    LEFT JOIN access.api_key k ON k.id = key_of_caller.key_id AND k.tenant_id = asking.tenant_id
    LEFT JOIN access.context_key c ON c.id = key_of_caller.key_id AND c.tenant_id = asking.tenant_id;
END;
REVOKE ALL ON FUNCTION access.key_of_caller FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.key_of_caller TO :"service_role";


-- Calls of administrators
-- -----------------------

-- Calls that need the scope `admin` and change something, or tried to; log lines say the same. The services add rows by
-- a function and cannot change them. Refused calls are sampled: a row may stand for several.
CREATE TABLE access.administrative_call (
    tenant_id uuid NOT NULL,
    -- Ordered by the end of the call.
    id uuid NOT NULL,
    call_id text NOT NULL,
    called_at timestamptz NOT NULL DEFAULT now(),
    method text NOT NULL,
    scope text NOT NULL,
    status text NOT NULL,
    reason text NOT NULL,
    subject text NOT NULL,
    user_id text NOT NULL,
    agent_id text NOT NULL,
    peer text NOT NULL,
    -- Ids in the request and the answer, by the path of the field.
    ids jsonb NOT NULL,
    -- The bounds of the caller. Keys with other bounds do not see the row: it names things outside of their bounds.
    bounds text NOT NULL,
    count integer NOT NULL DEFAULT 1,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX administrative_call_id ON access.administrative_call (tenant_id, call_id);
SELECT access.policy('access.administrative_call', 'tenant', 'bounds:same');
GRANT SELECT ON access.administrative_call TO :"service_role";

-- Delete the keys of a user who is erased, in the transaction's tenant, and replace the user by a pseudonym in calls of
-- administrators. Return the number of keys. Keys made by the user's keys stay, except context keys.
CREATE FUNCTION access.erase_user(who text, digest text, pseudonym text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    of_tenant CONSTANT uuid := nullif(current_setting('app.tenant', true), '')::uuid;
    key_ids uuid[];
    ended bigint;
    ended_with bigint;
BEGIN
    IF who = '' THEN
        RETURN 0;
    END IF;
    key_ids := ARRAY(
        SELECT k.id FROM access.api_key k WHERE k.tenant_id = of_tenant AND who IN (k.user_id, k.subject) FOR UPDATE
    );
    DELETE FROM access.context_key c
    WHERE c.tenant_id = of_tenant AND (who IN (c.user_id, c.subject) OR c.parent_id = ANY (key_ids));
    GET DIAGNOSTICS ended_with = ROW_COUNT;
    UPDATE access.api_key k SET parent_id = NULL WHERE k.parent_id = ANY (key_ids);
    DELETE FROM access.api_key k WHERE k.id = ANY (key_ids);
    GET DIAGNOSTICS ended = ROW_COUNT;
    -- Their ids are kept as texts, which JSON quotes: no part of another one is taken for one.
    UPDATE access.administrative_call c
    SET subject = CASE c.subject WHEN who THEN pseudonym ELSE c.subject END,
        user_id = CASE c.user_id WHEN who THEN pseudonym ELSE c.user_id END,
        agent_id = CASE c.agent_id WHEN who THEN pseudonym ELSE c.agent_id END,
        ids = replace(
            replace(c.ids::text, to_jsonb(who)::text, to_jsonb(pseudonym)::text),
            to_jsonb(digest)::text, to_jsonb(pseudonym)::text
        )::jsonb
    WHERE c.tenant_id = of_tenant AND (
        who IN (c.subject, c.user_id, c.agent_id)
        OR strpos(c.ids::text, to_jsonb(who)::text) > 0 OR strpos(c.ids::text, to_jsonb(digest)::text) > 0
    );
    RETURN ended + ended_with;
END
$$;
REVOKE ALL ON FUNCTION access.erase_user FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.erase_user TO :"service_role";

-- Store a call, with the tenant and the bounds of the transaction, and delete a few rows older than 400 days. `count`
-- is the number of calls that the row stands for.
CREATE FUNCTION access.keep_call(
    new_id uuid, call_id text, method text, scope text, status text, reason text, subject text, user_id text, agent_id text,
    peer text, ids jsonb, count integer DEFAULT 1
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    of_tenant CONSTANT uuid := nullif(current_setting('app.tenant', true), '')::uuid;
BEGIN
    DELETE FROM access.administrative_call c WHERE c.tenant_id = of_tenant AND c.id IN (
        SELECT o.id FROM access.administrative_call o
        WHERE o.tenant_id = of_tenant AND o.called_at < now() - interval '400 days'
        ORDER BY o.id LIMIT 10 FOR UPDATE SKIP LOCKED
    );
    INSERT INTO access.administrative_call (
        tenant_id, id, call_id, method, scope, status, reason, subject, user_id, agent_id, peer, ids, count, bounds
    )
    VALUES (of_tenant, new_id, call_id, method, scope, status, reason, subject, user_id, agent_id, peer, ids, count,
        coalesce(current_setting('app.bounds', true), ''));
END
$$;
REVOKE ALL ON FUNCTION access.keep_call FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.keep_call TO :"service_role";

-- Add refused calls to the row of the first one. Another row could name a user who was erased since.
CREATE FUNCTION access.count_refused(first_id uuid, refused integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE access.administrative_call c SET count = c.count + refused
    WHERE c.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND c.id = first_id;
    RETURN FOUND;
END
$$;
REVOKE ALL ON FUNCTION access.count_refused FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.count_refused TO :"service_role";
