-- What the migrations add up to; written by `make schema`, never by hand.

CREATE SCHEMA access;

ALTER SCHEMA access OWNER TO contextkeep_owner;

CREATE TYPE access.reach AS (
	tenant_id uuid,
	scopes text[],
	user_id text,
	app_ids text[],
	agent_bundle_id text,
	graph_names text[],
	expires_at timestamp with time zone
);

ALTER TYPE access.reach OWNER TO contextkeep_owner;

CREATE TABLE access.api_key (
    id uuid NOT NULL,
    key_sha256 bytea NOT NULL,
    prefix text NOT NULL,
    tenant_id uuid NOT NULL,
    subject text NOT NULL,
    scopes text[] NOT NULL,
    user_id text DEFAULT ''::text NOT NULL,
    agent_id text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    app_ids text[] DEFAULT '{}'::text[] NOT NULL,
    agent_bundle_id text DEFAULT ''::text NOT NULL,
    graph_names text[] DEFAULT '{}'::text[] NOT NULL,
    parent_id uuid,
    CONSTRAINT api_key_operator_check CHECK (((NOT ('operator'::text = ANY (scopes))) OR ((user_id = ''::text) AND (app_ids = '{}'::text[]) AND (agent_bundle_id = ''::text) AND (graph_names = '{}'::text[])))),
    CONSTRAINT api_key_scopes_check CHECK (((scopes <@ ARRAY['read'::text, 'write'::text, 'admin'::text, 'delegate'::text, 'context:read'::text, 'compile'::text, 'operator'::text]) AND (cardinality(scopes) > 0)))
);

ALTER TABLE access.api_key OWNER TO contextkeep_owner;

CREATE FUNCTION access.asking_key(asking_id uuid) RETURNS access.api_key
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION access.asking_key(asking_id uuid) OWNER TO contextkeep_owner;

CREATE FUNCTION access.check_operator(asking_id uuid) RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION access.check_operator(asking_id uuid) OWNER TO contextkeep_owner;

CREATE FUNCTION access.context_in_bounds(ancestors uuid[], agent_bundle_id text, app_id text) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    AS $$
DECLARE
    bounds jsonb := current_setting('app.bounds')::jsonb;
BEGIN
    RETURN bounds - '{context_id,agent_bundle_id,app_ids}'::text[] = '{}'
        AND coalesce((bounds ->> 'context_id')::uuid = ANY (ancestors), NOT bounds ? 'context_id')
        AND coalesce(bounds ->> 'agent_bundle_id' = agent_bundle_id, NOT bounds ? 'agent_bundle_id')
        AND coalesce((bounds -> 'app_ids') ? app_id, NOT bounds ? 'app_ids');
END
$$;

ALTER FUNCTION access.context_in_bounds(ancestors uuid[], agent_bundle_id text, app_id text) OWNER TO contextkeep_owner;

CREATE FUNCTION access.sees_all_contexts() RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN COALESCE((current_setting('app.context'::text, true) = '*'::text), false);

ALTER FUNCTION access.sees_all_contexts() OWNER TO contextkeep_owner;

CREATE FUNCTION access.context_seen() RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN (NOT access.sees_all_contexts()) THEN (NULLIF(current_setting('app.context'::text, true), ''::text))::uuid ELSE NULL::uuid END;

ALTER FUNCTION access.context_seen() OWNER TO contextkeep_owner;

CREATE FUNCTION access.count_refused(first_id uuid, refused integer) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    UPDATE access.administrative_call c SET count = c.count + refused
    WHERE c.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND c.id = first_id;
    RETURN FOUND;
END
$$;

ALTER FUNCTION access.count_refused(first_id uuid, refused integer) OWNER TO contextkeep_owner;

CREATE TABLE access.context_key (
    id uuid NOT NULL,
    key_sha256 bytea NOT NULL,
    prefix text NOT NULL,
    tenant_id uuid NOT NULL,
    parent_id uuid,
    context_id uuid NOT NULL,
    subject text NOT NULL,
    scopes text[] NOT NULL,
    user_id text NOT NULL,
    agent_id text NOT NULL,
    app_ids text[] NOT NULL,
    agent_bundle_id text NOT NULL,
    graph_names text[] NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    CONSTRAINT context_key_check CHECK ((expires_at <= (created_at +
CASE
    WHEN (parent_id IS NULL) THEN '01:00:00'::interval
    ELSE '1 day'::interval
END))),
    CONSTRAINT context_key_scopes_check CHECK (((scopes <@ ARRAY['read'::text, 'write'::text]) AND (cardinality(scopes) > 0)))
);

ALTER TABLE access.context_key OWNER TO contextkeep_owner;

CREATE FUNCTION access.end_context_keys(of_context_id uuid) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    BEGIN ATOMIC
 WITH gone AS (
          DELETE FROM access.context_key c
           WHERE ((c.tenant_id = (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid) AND (c.context_id = end_context_keys.of_context_id))
           RETURNING c.id
         )
  SELECT count(*) AS count
    FROM gone;
END;

ALTER FUNCTION access.end_context_keys(of_context_id uuid) OWNER TO contextkeep_owner;

CREATE FUNCTION access.end_context_keys_of_user(of_user_id text) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    BEGIN ATOMIC
 WITH gone AS (
          DELETE FROM access.context_key c
           WHERE ((c.tenant_id = (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid) AND (end_context_keys_of_user.of_user_id <> ''::text) AND ((end_context_keys_of_user.of_user_id = c.user_id) OR (end_context_keys_of_user.of_user_id = c.subject)))
           RETURNING c.id
         )
  SELECT count(*) AS count
    FROM gone;
END;

ALTER FUNCTION access.end_context_keys_of_user(of_user_id text) OWNER TO contextkeep_owner;

CREATE FUNCTION access.enter(of_tenant uuid) RETURNS text
    LANGUAGE plpgsql
    AS $$
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

ALTER FUNCTION access.enter(of_tenant uuid) OWNER TO contextkeep_owner;

CREATE FUNCTION access.erase_user(who text, digest text, pseudonym text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION access.erase_user(who text, digest text, pseudonym text) OWNER TO contextkeep_owner;

CREATE FUNCTION access.find_key(sha256 bytea) RETURNS TABLE(id uuid, is_of_context boolean, tenant_id uuid, subject text, scopes text[], user_id text, agent_id text, bounds jsonb, last_used_at timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    BEGIN ATOMIC
 SELECT k.id,
     false,
     k.tenant_id,
     k.subject,
     k.scopes,
     k.user_id,
     k.agent_id,
     jsonb_build_object('app_ids', k.app_ids, 'agent_bundle_id', k.agent_bundle_id, 'graph_names', k.graph_names) AS jsonb_build_object,
     k.last_used_at
    FROM access.api_key k
   WHERE ((k.key_sha256 = find_key.sha256) AND (k.revoked_at IS NULL) AND COALESCE((k.expires_at > now()), true))
 UNION ALL
  SELECT c.id,
     true,
     c.tenant_id,
     c.subject,
     c.scopes,
     c.user_id,
     c.agent_id,
     jsonb_build_object('app_ids', c.app_ids, 'agent_bundle_id', c.agent_bundle_id, 'graph_names', c.graph_names, 'context_id', c.context_id) AS jsonb_build_object,
     NULL::timestamp with time zone
    FROM access.context_key c
   WHERE ((c.key_sha256 = find_key.sha256) AND (c.revoked_at IS NULL) AND (c.expires_at > now()) AND ((c.parent_id IS NULL) OR (EXISTS ( SELECT
            FROM access.api_key k
           WHERE ((k.id = c.parent_id) AND (k.revoked_at IS NULL) AND COALESCE((k.expires_at > now()), true))))));
END;

ALTER FUNCTION access.find_key(sha256 bytea) OWNER TO contextkeep_owner;

CREATE FUNCTION access.is_within(part access.reach, whole access.reach) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    RETURN COALESCE((((part).tenant_id = (whole).tenant_id) AND ((part).scopes <@ ((whole).scopes || CASE WHEN ('read'::text = ANY ((whole).scopes)) THEN ARRAY['context:read'::text] ELSE '{}'::text[] END)) AND (cardinality((part).scopes) > 0) AND (((part).user_id = (whole).user_id) OR (((part).user_id <> ''::text) AND ((whole).user_id = ''::text) AND ('delegate'::text = ANY ((whole).scopes)))) AND (((whole).app_ids = '{}'::text[]) OR (((part).app_ids <> '{}'::text[]) AND ((part).app_ids <@ (whole).app_ids))) AND ((whole).agent_bundle_id = ANY (ARRAY[''::text, (part).agent_bundle_id])) AND (((whole).graph_names = '{}'::text[]) OR (((part).graph_names <> '{}'::text[]) AND ((part).graph_names <@ (whole).graph_names))) AND (COALESCE((part).expires_at, 'infinity'::timestamp with time zone) <= COALESCE((whole).expires_at, 'infinity'::timestamp with time zone))), false);

ALTER FUNCTION access.is_within(part access.reach, whole access.reach) OWNER TO contextkeep_owner;

CREATE FUNCTION access.keep_call(new_id uuid, call_id text, method text, scope text, status text, reason text, subject text, user_id text, agent_id text, peer text, ids jsonb, count integer DEFAULT 1) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION access.keep_call(new_id uuid, call_id text, method text, scope text, status text, reason text, subject text, user_id text, agent_id text, peer text, ids jsonb, count integer) OWNER TO contextkeep_owner;

CREATE TABLE access.tenant (
    id uuid NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    database text,
    CONSTRAINT tenant_database_check CHECK ((database <> ''::text))
);

ALTER TABLE access.tenant OWNER TO contextkeep_owner;

CREATE FUNCTION access.key_of_caller(key_id uuid) RETURNS TABLE(tenant text, prefix text, expires_at timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    BEGIN ATOMIC
 SELECT COALESCE(t.name, ''::text) AS "coalesce",
     COALESCE(k.prefix, c.prefix, ''::text) AS "coalesce",
     COALESCE(k.expires_at, c.expires_at) AS "coalesce"
    FROM (((( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS tenant_id) asking
      LEFT JOIN access.tenant t ON ((t.id = asking.tenant_id)))
      LEFT JOIN access.api_key k ON (((k.id = key_of_caller.key_id) AND (k.tenant_id = asking.tenant_id))))
      LEFT JOIN access.context_key c ON (((c.id = key_of_caller.key_id) AND (c.tenant_id = asking.tenant_id))));
END;

ALTER FUNCTION access.key_of_caller(key_id uuid) OWNER TO contextkeep_owner;

CREATE FUNCTION access.list_keys(of_context_id uuid, before_id uuid, rows_max integer) RETURNS TABLE(id uuid, prefix text, subject text, scopes text[], user_id text, agent_id text, app_ids text[], agent_bundle_id text, graph_names text[], context_id uuid, made_by text, created_at timestamp with time zone, expires_at timestamp with time zone, revoked_at timestamp with time zone, last_used_at timestamp with time zone)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION access.list_keys(of_context_id uuid, before_id uuid, rows_max integer) OWNER TO contextkeep_owner;

CREATE FUNCTION access.lives_here(of_tenant uuid) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT coalesce(
        (SELECT r.state IN ('HERE', 'LEAVING') FROM access.residence r WHERE r.tenant_id = of_tenant),
        NOT EXISTS (SELECT FROM access.this_database)
    )
$$;

ALTER FUNCTION access.lives_here(of_tenant uuid) OWNER TO contextkeep_owner;

CREATE FUNCTION access.make_context_key(asking_id uuid, new_id uuid, sha256 bytea, new_prefix text, of_context_id uuid, said_subject text, new_scopes text[], said_agent_id text, lifetime interval, said_end timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION access.make_context_key(asking_id uuid, new_id uuid, sha256 bytea, new_prefix text, of_context_id uuid, said_subject text, new_scopes text[], said_agent_id text, lifetime interval, said_end timestamp with time zone) OWNER TO contextkeep_owner;

CREATE FUNCTION access.make_key(asking_id uuid, new_id uuid, sha256 bytea, new_prefix text, new_subject text, new_scopes text[], new_user_id text, new_agent_id text, new_app_ids text[], new_agent_bundle_id text, new_graph_names text[], new_expires_at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION access.make_key(asking_id uuid, new_id uuid, sha256 bytea, new_prefix text, new_subject text, new_scopes text[], new_user_id text, new_agent_id text, new_app_ids text[], new_agent_bundle_id text, new_graph_names text[], new_expires_at timestamp with time zone) OWNER TO contextkeep_owner;

CREATE FUNCTION access.number_behind(of_tenant uuid, seq bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION access.number_behind(of_tenant uuid, seq bigint) OWNER TO contextkeep_owner;

CREATE FUNCTION access.number_row() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.seq := nextval(coalesce(
        to_regclass('access.numbers_' || replace(NEW.tenant_id::text, '-', '')), access.numbers_of(NEW.tenant_id)
    ));
    RETURN NEW;
END
$$;

ALTER FUNCTION access.number_row() OWNER TO contextkeep_owner;

CREATE FUNCTION access.number_tenant() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    PERFORM access.numbers_of(NEW.id);
    RETURN NULL;
END
$$;

ALTER FUNCTION access.number_tenant() OWNER TO contextkeep_owner;

CREATE FUNCTION access.numbers_of(of_tenant uuid) RETURNS regclass
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION access.numbers_of(of_tenant uuid) OWNER TO contextkeep_owner;

CREATE FUNCTION access.owners_seen() RETURNS text[]
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN starts_with(current_setting('app.subject'::text, true), '='::text) THEN ARRAY[''::text, substr(current_setting('app.subject'::text, true), 2)] ELSE NULL::text[] END;

ALTER FUNCTION access.owners_seen() OWNER TO contextkeep_owner;

CREATE FUNCTION access.reach_of(of_key access.api_key) RETURNS access.reach
    LANGUAGE sql IMMUTABLE
    RETURN ROW((of_key).tenant_id, (of_key).scopes, (of_key).user_id, (of_key).app_ids, (of_key).agent_bundle_id, (of_key).graph_names, (of_key).expires_at)::access.reach;

ALTER FUNCTION access.reach_of(of_key access.api_key) OWNER TO contextkeep_owner;

CREATE FUNCTION access.revoke_key(asking_id uuid, of_prefix text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION access.revoke_key(asking_id uuid, of_prefix text) OWNER TO contextkeep_owner;

CREATE FUNCTION access.sees_all_subjects() RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN COALESCE((current_setting('app.subject'::text, true) = '*'::text), false);

ALTER FUNCTION access.sees_all_subjects() OWNER TO contextkeep_owner;

CREATE FUNCTION access.stay(of_tenant uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    -- Whoever moves it locks the same row to say GONE: one of both is first, and the other one sees it.
    UPDATE access.residence r SET state = 'HERE', until = NULL, changed_at = now()
    WHERE r.tenant_id = of_tenant AND r.state = 'LEAVING' AND r.until < clock_timestamp();
    RETURN EXISTS (SELECT FROM access.residence r WHERE r.tenant_id = of_tenant AND r.state = 'HERE');
END
$$;

ALTER FUNCTION access.stay(of_tenant uuid) OWNER TO contextkeep_owner;

CREATE TABLE access.administrative_call (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    call_id text NOT NULL,
    called_at timestamp with time zone DEFAULT now() NOT NULL,
    method text NOT NULL,
    scope text NOT NULL,
    status text NOT NULL,
    reason text NOT NULL,
    subject text NOT NULL,
    user_id text NOT NULL,
    agent_id text NOT NULL,
    peer text NOT NULL,
    ids jsonb NOT NULL,
    bounds text NOT NULL,
    count integer DEFAULT 1 NOT NULL
);

ALTER TABLE access.administrative_call OWNER TO contextkeep_owner;

CREATE TABLE access.migration (
    version integer NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE access.migration OWNER TO contextkeep_owner;

CREATE TABLE access.move (
    tenant_id uuid NOT NULL,
    source text NOT NULL,
    horizon text NOT NULL,
    copied jsonb DEFAULT '{}'::jsonb NOT NULL,
    is_whole boolean DEFAULT false NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE access.move OWNER TO contextkeep_owner;

CREATE TABLE access.residence (
    tenant_id uuid NOT NULL,
    state text NOT NULL,
    until timestamp with time zone,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    cleaned_at timestamp with time zone,
    CONSTRAINT residence_check CHECK (((until IS NOT NULL) = (state = 'LEAVING'::text))),
    CONSTRAINT residence_state_check CHECK ((state = ANY (ARRAY['ARRIVING'::text, 'HERE'::text, 'LEAVING'::text, 'GONE'::text])))
);

ALTER TABLE access.residence OWNER TO contextkeep_owner;

CREATE TABLE access.this_database (
    name text NOT NULL,
    is_this boolean DEFAULT true NOT NULL,
    CONSTRAINT this_database_is_this_check CHECK (is_this),
    CONSTRAINT this_database_name_check CHECK ((name <> ''::text))
);

ALTER TABLE access.this_database OWNER TO contextkeep_owner;

ALTER TABLE ONLY access.administrative_call
    ADD CONSTRAINT administrative_call_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY access.api_key
    ADD CONSTRAINT api_key_key_sha256_key UNIQUE (key_sha256);

ALTER TABLE ONLY access.api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (id);

ALTER TABLE ONLY access.context_key
    ADD CONSTRAINT context_key_key_sha256_key UNIQUE (key_sha256);

ALTER TABLE ONLY access.context_key
    ADD CONSTRAINT context_key_pkey PRIMARY KEY (id);

ALTER TABLE ONLY access.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (version);

ALTER TABLE ONLY access.move
    ADD CONSTRAINT move_pkey PRIMARY KEY (tenant_id);

ALTER TABLE ONLY access.residence
    ADD CONSTRAINT residence_pkey PRIMARY KEY (tenant_id);

ALTER TABLE ONLY access.tenant
    ADD CONSTRAINT tenant_name_key UNIQUE (name);

ALTER TABLE ONLY access.tenant
    ADD CONSTRAINT tenant_pkey PRIMARY KEY (id);

ALTER TABLE ONLY access.this_database
    ADD CONSTRAINT this_database_is_this_key UNIQUE (is_this);

ALTER TABLE ONLY access.this_database
    ADD CONSTRAINT this_database_pkey PRIMARY KEY (name);

CREATE INDEX administrative_call_id ON access.administrative_call USING btree (tenant_id, call_id);

CREATE INDEX api_key_tenant ON access.api_key USING btree (tenant_id, created_at);

CREATE INDEX context_key_context ON access.context_key USING btree (tenant_id, context_id);

CREATE INDEX context_key_expiry ON access.context_key USING btree (expires_at);

CREATE INDEX tenant_elsewhere ON access.tenant USING btree (database) WHERE (database IS NOT NULL);

CREATE TRIGGER numbered AFTER INSERT ON access.tenant FOR EACH ROW EXECUTE FUNCTION access.number_tenant();

ALTER TABLE ONLY access.api_key
    ADD CONSTRAINT api_key_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES access.api_key(id);

ALTER TABLE ONLY access.api_key
    ADD CONSTRAINT api_key_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES access.tenant(id);

ALTER TABLE ONLY access.context_key
    ADD CONSTRAINT context_key_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES access.api_key(id);

ALTER TABLE access.administrative_call ENABLE ROW LEVEL SECURITY;

CREATE POLICY bounds ON access.administrative_call AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR (bounds = ( SELECT current_setting('app.bounds'::text, true) AS current_setting))), false) IS NOT NULL));

CREATE POLICY tenant ON access.administrative_call USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

GRANT USAGE ON SCHEMA access TO contextkeep_service;

GRANT SELECT ON TABLE access.api_key TO contextkeep_service;

GRANT UPDATE(last_used_at) ON TABLE access.api_key TO contextkeep_service;

REVOKE ALL ON FUNCTION access.asking_key(asking_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION access.check_operator(asking_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION access.check_operator(asking_id uuid) TO contextkeep_service;

REVOKE ALL ON FUNCTION access.count_refused(first_id uuid, refused integer) FROM PUBLIC;
GRANT ALL ON FUNCTION access.count_refused(first_id uuid, refused integer) TO contextkeep_service;

REVOKE ALL ON FUNCTION access.end_context_keys(of_context_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION access.end_context_keys(of_context_id uuid) TO contextkeep_service;

REVOKE ALL ON FUNCTION access.end_context_keys_of_user(of_user_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION access.end_context_keys_of_user(of_user_id text) TO contextkeep_service;

REVOKE ALL ON FUNCTION access.enter(of_tenant uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION access.enter(of_tenant uuid) TO contextkeep_service;

REVOKE ALL ON FUNCTION access.erase_user(who text, digest text, pseudonym text) FROM PUBLIC;
GRANT ALL ON FUNCTION access.erase_user(who text, digest text, pseudonym text) TO contextkeep_service;

REVOKE ALL ON FUNCTION access.find_key(sha256 bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION access.find_key(sha256 bytea) TO contextkeep_service;

REVOKE ALL ON FUNCTION access.is_within(part access.reach, whole access.reach) FROM PUBLIC;

REVOKE ALL ON FUNCTION access.keep_call(new_id uuid, call_id text, method text, scope text, status text, reason text, subject text, user_id text, agent_id text, peer text, ids jsonb, count integer) FROM PUBLIC;
GRANT ALL ON FUNCTION access.keep_call(new_id uuid, call_id text, method text, scope text, status text, reason text, subject text, user_id text, agent_id text, peer text, ids jsonb, count integer) TO contextkeep_service;

GRANT SELECT ON TABLE access.tenant TO contextkeep_service;

REVOKE ALL ON FUNCTION access.key_of_caller(key_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION access.key_of_caller(key_id uuid) TO contextkeep_service;

REVOKE ALL ON FUNCTION access.list_keys(of_context_id uuid, before_id uuid, rows_max integer) FROM PUBLIC;
GRANT ALL ON FUNCTION access.list_keys(of_context_id uuid, before_id uuid, rows_max integer) TO contextkeep_service;

REVOKE ALL ON FUNCTION access.lives_here(of_tenant uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION access.lives_here(of_tenant uuid) TO contextkeep_service;

REVOKE ALL ON FUNCTION access.make_context_key(asking_id uuid, new_id uuid, sha256 bytea, new_prefix text, of_context_id uuid, said_subject text, new_scopes text[], said_agent_id text, lifetime interval, said_end timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION access.make_context_key(asking_id uuid, new_id uuid, sha256 bytea, new_prefix text, of_context_id uuid, said_subject text, new_scopes text[], said_agent_id text, lifetime interval, said_end timestamp with time zone) TO contextkeep_service;

REVOKE ALL ON FUNCTION access.make_key(asking_id uuid, new_id uuid, sha256 bytea, new_prefix text, new_subject text, new_scopes text[], new_user_id text, new_agent_id text, new_app_ids text[], new_agent_bundle_id text, new_graph_names text[], new_expires_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION access.make_key(asking_id uuid, new_id uuid, sha256 bytea, new_prefix text, new_subject text, new_scopes text[], new_user_id text, new_agent_id text, new_app_ids text[], new_agent_bundle_id text, new_graph_names text[], new_expires_at timestamp with time zone) TO contextkeep_service;

REVOKE ALL ON FUNCTION access.number_behind(of_tenant uuid, seq bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION access.number_row() FROM PUBLIC;

REVOKE ALL ON FUNCTION access.number_tenant() FROM PUBLIC;

REVOKE ALL ON FUNCTION access.numbers_of(of_tenant uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION access.numbers_of(of_tenant uuid) TO contextkeep_service;

REVOKE ALL ON FUNCTION access.reach_of(of_key access.api_key) FROM PUBLIC;

REVOKE ALL ON FUNCTION access.revoke_key(asking_id uuid, of_prefix text) FROM PUBLIC;
GRANT ALL ON FUNCTION access.revoke_key(asking_id uuid, of_prefix text) TO contextkeep_service;

REVOKE ALL ON FUNCTION access.stay(of_tenant uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION access.stay(of_tenant uuid) TO contextkeep_service;

GRANT SELECT ON TABLE access.administrative_call TO contextkeep_service;

GRANT SELECT ON TABLE access.migration TO contextkeep_service;

GRANT SELECT ON TABLE access.residence TO contextkeep_service;

GRANT SELECT ON TABLE access.this_database TO contextkeep_service;

ALTER DEFAULT PRIVILEGES FOR ROLE contextkeep_owner IN SCHEMA access GRANT USAGE ON SEQUENCES TO contextkeep_service;
