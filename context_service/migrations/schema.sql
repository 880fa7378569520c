-- What the migrations add up to; written by `make schema`, never by hand.

CREATE SCHEMA context;

ALTER SCHEMA context OWNER TO contextkeep_owner;

CREATE FUNCTION context.app_in_bounds(app_id text) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    AS $$
DECLARE
    bounds jsonb := current_setting('app.bounds')::jsonb;
BEGIN
    RETURN context.knows_bounds(bounds) AND coalesce((bounds -> 'app_ids') ? app_id, NOT bounds ? 'app_ids');
END
$$;

ALTER FUNCTION context.app_in_bounds(app_id text) OWNER TO contextkeep_owner;

CREATE FUNCTION context.beginning_of_texts(content json, chars_max integer) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT "left"(string_agg(found.value, ' '::text), beginning_of_texts.chars_max) AS "left" FROM jsonb_array_elements_text(jsonb_path_query_array((beginning_of_texts.content)::jsonb, 'strict $.**?(@.type() == "string" || @.type() == "number")'::jsonpath)) found(value));

ALTER FUNCTION context.beginning_of_texts(content json, chars_max integer) OWNER TO contextkeep_owner;

CREATE FUNCTION context.count_usage() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO context.tenant_usage AS u (tenant_id, shard, records, size_bytes)
    VALUES (
        coalesce(NEW.tenant_id, OLD.tenant_id),
        pg_backend_pid() % 64,
        TG_ARGV[0]::integer * ((TG_OP = 'INSERT')::integer - (TG_OP = 'DELETE')::integer),
        coalesce(NEW.size_bytes, 0) - coalesce(OLD.size_bytes, 0)
    )
    ON CONFLICT (tenant_id, shard) DO UPDATE
        SET records = u.records + excluded.records, size_bytes = u.size_bytes + excluded.size_bytes;
    RETURN NULL;
END
$$;

ALTER FUNCTION context.count_usage() OWNER TO contextkeep_owner;

CREATE TABLE context.action (
    tenant_id uuid NOT NULL,
    record_id uuid NOT NULL,
    seq bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    request_id uuid,
    kind text NOT NULL,
    principal text NOT NULL,
    details jsonb DEFAULT '{}'::jsonb NOT NULL,
    entity_node_id uuid,
    bounds text DEFAULT COALESCE(current_setting('app.bounds'::text, true), ''::text) NOT NULL,
    imported jsonb,
    CONSTRAINT action_kind_check CHECK ((kind = ANY (ARRAY['created'::text, 'updated'::text, 'archived'::text, 'restored'::text, 'moved'::text, 'purged'::text])))
);

ALTER TABLE context.action OWNER TO contextkeep_owner;

CREATE FUNCTION context.forget_actions(record_ids uuid[]) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    BEGIN ATOMIC
 WITH gone AS (
          DELETE FROM context.action a
           WHERE ((a.tenant_id = (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid) AND (a.record_id = ANY (forget_actions.record_ids)))
           RETURNING true AS "?column?"
         )
  SELECT count(*) AS count
    FROM gone;
END;

ALTER FUNCTION context.forget_actions(record_ids uuid[]) OWNER TO contextkeep_owner;

CREATE TABLE context.context (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    entity_node_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone,
    closed_at timestamp with time zone,
    last_seq bigint DEFAULT 0 NOT NULL,
    last_said_at timestamp with time zone NOT NULL,
    last_session bigint DEFAULT 0 NOT NULL,
    message_count bigint DEFAULT 0 NOT NULL,
    token_count bigint DEFAULT 0 NOT NULL,
    last_session_name text DEFAULT ''::text NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    created_by text NOT NULL,
    title text DEFAULT ''::text NOT NULL,
    recall_profile text DEFAULT ''::text NOT NULL,
    only_system text,
    only_id text,
    agent_ids text[] DEFAULT '{}'::text[] NOT NULL,
    external_ids jsonb DEFAULT '[]'::jsonb NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    deleted_at timestamp with time zone,
    task_count integer DEFAULT 0 NOT NULL,
    last_change bigint DEFAULT 0 NOT NULL,
    artifact_count integer DEFAULT 0 NOT NULL,
    header_change bigint DEFAULT 0 NOT NULL,
    imported jsonb,
    CONSTRAINT context_check CHECK (((only_system IS NULL) = (only_id IS NULL))),
    CONSTRAINT context_check1 CHECK ((ancestors[cardinality(ancestors)] = context_id))
)
WITH (fillfactor='80');

ALTER TABLE context.context OWNER TO contextkeep_owner;

CREATE TABLE context.hold (
    tenant_id uuid NOT NULL,
    hold_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    subject text NOT NULL,
    context_id uuid,
    reason text NOT NULL,
    created_by text NOT NULL,
    CONSTRAINT hold_check CHECK (((subject = ''::text) = (context_id IS NOT NULL)))
);

ALTER TABLE context.hold OWNER TO contextkeep_owner;

CREATE FUNCTION context.holds_of(of_context_id uuid) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    BEGIN ATOMIC
 SELECT h.hold_id
    FROM (context.hold h
      JOIN context.context c ON (((c.tenant_id = h.tenant_id) AND (c.context_id = holds_of.of_context_id))))
   WHERE ((h.tenant_id = (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid) AND ((h.context_id = ANY (c.ancestors)) OR ((h.subject <> ''::text) AND (h.subject = c.owner_user_id)) OR (EXISTS ( SELECT
            FROM context.context b
           WHERE ((b.tenant_id = c.tenant_id) AND (b.ancestors[1] = c.ancestors[1]) AND (c.context_id = ANY (b.ancestors)) AND ((b.context_id = h.context_id) OR ((h.subject <> ''::text) AND (h.subject = b.owner_user_id))))))));
END;

ALTER FUNCTION context.holds_of(of_context_id uuid) OWNER TO contextkeep_owner;

CREATE FUNCTION context.in_bounds(graph_name text, agent_bundle_id text, app_id text) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    AS $$
DECLARE
    bounds jsonb := current_setting('app.bounds')::jsonb;
BEGIN
    RETURN context.knows_bounds(bounds)
        AND coalesce((bounds -> 'graph_names') ? graph_name, NOT bounds ? 'graph_names')
        AND coalesce(bounds ->> 'agent_bundle_id' = agent_bundle_id, NOT bounds ? 'agent_bundle_id')
        AND coalesce((bounds -> 'app_ids') ? app_id, NOT bounds ? 'app_ids');
END
$$;

ALTER FUNCTION context.in_bounds(graph_name text, agent_bundle_id text, app_id text) OWNER TO contextkeep_owner;

CREATE FUNCTION context.keep_search() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.search_language = '' THEN
        NEW.search_language := 'english';
    END IF;
    NEW.search := context.search_of(
        NEW.tenant_id, NEW.search_language, NEW.name, NEW.description, NEW.content,
        CASE WHEN NEW.content IS NULL THEN coalesce(NEW.content_text, NEW.blob_text) END);
    RETURN NEW;
END
$$;

ALTER FUNCTION context.keep_search() OWNER TO contextkeep_owner;

CREATE FUNCTION context.knows_bounds(bounds jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((bounds - '{graph_names,agent_bundle_id,app_ids}'::text[]) = '{}'::jsonb);

ALTER FUNCTION context.knows_bounds(bounds jsonb) OWNER TO contextkeep_owner;

CREATE FUNCTION context.name_search_of(tenant_id uuid, name text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (array_to_tsvector(ARRAY[('tenant '::text || (tenant_id)::text)]) || to_tsvector('simple'::regconfig, regexp_replace("left"(name, 5000), '[[:punct:]]+'::text, ' '::text, 'g'::text)));

ALTER FUNCTION context.name_search_of(tenant_id uuid, name text) OWNER TO contextkeep_owner;

CREATE TABLE context.message_record (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    seq bigint NOT NULL,
    part integer NOT NULL,
    record_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    due_at timestamp with time zone DEFAULT now() NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    passages integer DEFAULT 0 NOT NULL,
    state text DEFAULT 'PENDING'::text NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    detail text DEFAULT ''::text NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    entity_node_id uuid,
    CONSTRAINT message_record_state_check CHECK ((state = ANY (ARRAY['PENDING'::text, 'INDEXED'::text, 'FAILED'::text, 'NO_TEXT'::text])))
);

ALTER TABLE context.message_record OWNER TO contextkeep_owner;

CREATE TABLE context.wm_record (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    entity_node_id uuid,
    blob_id uuid,
    context_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone,
    archived_at timestamp with time zone,
    seq bigint NOT NULL,
    size_bytes bigint DEFAULT 0 NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    blob_key text,
    provider text DEFAULT ''::text NOT NULL,
    sha256 bytea,
    memory_type text NOT NULL,
    subtype text DEFAULT ''::text NOT NULL,
    semantic_purpose text DEFAULT ''::text NOT NULL,
    name text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    reasoning text DEFAULT ''::text NOT NULL,
    content_type text DEFAULT ''::text NOT NULL,
    graph_name text DEFAULT 'default'::text NOT NULL,
    agent_bundle_id text DEFAULT ''::text NOT NULL,
    app_id text DEFAULT ''::text NOT NULL,
    created_by text NOT NULL,
    owner_user_id text DEFAULT ''::text NOT NULL,
    agent_id text DEFAULT ''::text NOT NULL,
    index_state text DEFAULT 'NONE'::text NOT NULL,
    index_error text DEFAULT ''::text NOT NULL,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    content json,
    search tsvector,
    name_search tsvector GENERATED ALWAYS AS (context.name_search_of(tenant_id, name)) STORED,
    content_text text,
    blob_text text,
    search_language text DEFAULT ''::text NOT NULL,
    text_state text DEFAULT 'NONE'::text NOT NULL,
    text_error text DEFAULT ''::text NOT NULL,
    passage_count integer,
    imported jsonb,
    CONSTRAINT wm_record_check CHECK (((blob_id IS NULL) OR (content IS NULL))),
    CONSTRAINT wm_record_check1 CHECK (((blob_id IS NULL) = (blob_key IS NULL))),
    CONSTRAINT wm_record_index_state_check CHECK ((index_state = ANY (ARRAY['NONE'::text, 'PENDING'::text, 'INDEXED'::text, 'FAILED'::text]))),
    CONSTRAINT wm_record_text_state_check CHECK ((text_state = ANY (ARRAY['NONE'::text, 'PENDING'::text, 'INDEXED'::text, 'FAILED'::text])))
);

ALTER TABLE context.wm_record OWNER TO contextkeep_owner;

CREATE FUNCTION context.let_go_of_records(record_ids uuid[]) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    BEGIN ATOMIC
 WITH gone AS (
          UPDATE context.message_record r SET record_id = NULL::uuid, due_at = now()
           WHERE ((r.tenant_id = (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid) AND (r.record_id = ANY (let_go_of_records.record_ids)) AND (NOT (EXISTS ( SELECT
                    FROM context.wm_record w
                   WHERE ((w.tenant_id = r.tenant_id) AND (w.id = r.record_id))))))
           RETURNING true AS "?column?"
         )
  SELECT count(*) AS count
    FROM gone;
END;

ALTER FUNCTION context.let_go_of_records(record_ids uuid[]) OWNER TO contextkeep_owner;

CREATE FUNCTION context.move_embedding() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE context.embedding
    SET entity_node_id = NEW.entity_node_id, hidden_at = least(NEW.archived_at, NEW.expires_at),
        memory_type = NEW.memory_type, graph_name = NEW.graph_name, agent_bundle_id = NEW.agent_bundle_id,
        app_id = NEW.app_id
    WHERE tenant_id = NEW.tenant_id AND owner_kind = 'record' AND owner_id = NEW.id;
    RETURN NULL;
END
$$;

ALTER FUNCTION context.move_embedding() OWNER TO contextkeep_owner;

CREATE FUNCTION context.named_in(imported jsonb) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(SELECT named.value FROM jsonb_each_text(named_in.imported) named(key, value) WHERE (named.key <> ALL (ARRAY['import_id'::text, 'imported_at'::text])));

ALTER FUNCTION context.named_in(imported jsonb) OWNER TO contextkeep_owner;

CREATE FUNCTION context.number_behind(of_table text, seq bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF of_table NOT IN ('action', 'knowledge_document', 'memory', 'wiki_page_version', 'wm_record') OR seq > 281474976710656 THEN
        RAISE EXCEPTION 'no number of that table' USING ERRCODE = 'numeric_value_out_of_range';
    END IF;
    PERFORM access.number_behind(nullif(current_setting('app.tenant', true), '')::uuid, seq);
END
$$;

ALTER FUNCTION context.number_behind(of_table text, seq bigint) OWNER TO contextkeep_owner;

CREATE FUNCTION context.owed_work(asking_id uuid) RETURNS TABLE(kind text, owed bigint, failed bigint, oldest_at timestamp with time zone, last_error text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION context.owed_work(asking_id uuid) OWNER TO contextkeep_owner;

CREATE FUNCTION context.paired_letters() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '\u1100-\u11FF\u3005-\u3007\u3040-\u30FF\u3100-\u318F\u31A0-\u31BF\u31F0-\u31FF\u3400-\u4DBF\u4E00-\u9FFF\uA960-\uA97F\uAC00-\uD7FF\uF900-\uFAFF\uFF66-\uFFDC\U00020000-\U0003FFFF'::text;

ALTER FUNCTION context.paired_letters() OWNER TO contextkeep_owner;

CREATE FUNCTION context.pairs_of(said text) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
DECLARE
    letter_rows text := regexp_replace(said, '[^' || context.paired_letters() || ']+', ' ', 'g');
    first_left_out text := regexp_replace(letter_rows, '(^| )[^ ]', ' ', 'g');
    pairs text := regexp_replace(letter_rows || ' ' || first_left_out, '([^ ][^ ])', '\1 ', 'g');
BEGIN
    RETURN array_to_tsvector(array_remove(string_to_array(pairs, ' '), ''));
END
$$;

ALTER FUNCTION context.pairs_of(said text) OWNER TO contextkeep_owner;

CREATE FUNCTION context.passage_in_bounds(context_id uuid, ancestors uuid[], graph_name text, agent_bundle_id text, app_id text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    IF context_id IS NULL THEN
        RETURN context.in_bounds(graph_name, agent_bundle_id, app_id);
    END IF;
    RETURN access.context_in_bounds(ancestors, agent_bundle_id, app_id);
END
$$;

ALTER FUNCTION context.passage_in_bounds(context_id uuid, ancestors uuid[], graph_name text, agent_bundle_id text, app_id text) OWNER TO contextkeep_owner;

CREATE FUNCTION context.put_tenant_limits(of_name text, changed text[], new_records_max bigint, new_bytes_max bigint, new_blob_bytes_max bigint, new_content_bytes_max bigint) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION context.put_tenant_limits(of_name text, changed text[], new_records_max bigint, new_bytes_max bigint, new_blob_bytes_max bigint, new_content_bytes_max bigint) OWNER TO contextkeep_owner;

CREATE FUNCTION context.renamed(imported jsonb, who text, pseudonym text) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT jsonb_object_agg(named.key, CASE WHEN ((named.value = to_jsonb(renamed.who)) AND (named.key <> ALL (ARRAY['import_id'::text, 'imported_at'::text]))) THEN to_jsonb(renamed.pseudonym) ELSE named.value END) AS jsonb_object_agg FROM jsonb_each(renamed.imported) named(key, value));

ALTER FUNCTION context.renamed(imported jsonb, who text, pseudonym text) OWNER TO contextkeep_owner;

CREATE FUNCTION context.rename_in_actions(first tid, behind tid, who text, pseudonym text) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    BEGIN ATOMIC
 WITH renamed AS (
          UPDATE context.action a SET principal =
                 CASE a.principal
                     WHEN rename_in_actions.who THEN rename_in_actions.pseudonym
                     ELSE a.principal
                 END, imported = context.renamed(a.imported, rename_in_actions.who, rename_in_actions.pseudonym)
           WHERE ((a.ctid >= rename_in_actions.first) AND (a.ctid < rename_in_actions.behind) AND (a.tenant_id = (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid) AND ((a.principal = rename_in_actions.who) OR (rename_in_actions.who = ANY (context.named_in(a.imported)))) AND (rename_in_actions.who <> ''::text))
           RETURNING true AS "?column?"
         )
  SELECT count(*) AS count
    FROM renamed;
END;

ALTER FUNCTION context.rename_in_actions(first tid, behind tid, who text, pseudonym text) OWNER TO contextkeep_owner;

CREATE FUNCTION context.retry_work(asking_id uuid, of_kind text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION context.retry_work(asking_id uuid, of_kind text) OWNER TO contextkeep_owner;

CREATE FUNCTION context.search_asked(language text, terms text[], are_not boolean[], behind_or boolean[]) RETURNS tsquery
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
DECLARE
    one tsquery;
    together tsquery := '';
    whole tsquery := '';
BEGIN
    FOR place IN 1 .. cardinality(terms) LOOP
        one := context.words_asked(language, terms[place]);
        IF are_not[place] THEN
            one := !! one;
        END IF;
        IF behind_or[place] THEN
            whole := whole || together;
            together := '';
        END IF;
        together := together && one;
    END LOOP;
    RETURN whole || together;
END
$$;

ALTER FUNCTION context.search_asked(language text, terms text[], are_not boolean[], behind_or boolean[]) OWNER TO contextkeep_owner;

CREATE FUNCTION context.search_of(tenant_id uuid, language text, name text, description text, content json, content_text text) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
DECLARE
    -- The tenant is a word like the others, one that no text can hold; see 0007.
    search tsvector := array_to_tsvector(ARRAY['tenant ' || tenant_id::text]);
    document text := content::text;
    config regconfig := ('pg_catalog.' || language)::regconfig;
BEGIN
    search := search || setweight(
        context.words_of(language, regexp_replace(left(name, 5000), '[[:punct:]]+', ' ', 'g')), 'A');
    search := context.with_words(search, setweight(context.words_of(language, description), 'B'));
    IF content_text IS NOT NULL THEN
        RETURN context.with_words(search, context.words_of(language, left(content_text, 50000)));
    ELSIF content IS NULL THEN
        RETURN search;
    ELSIF octet_length(document) > 50000 OR octet_length(document) > char_length(document) OR document ~ '\\u' THEN
        RETURN context.with_words(
            search, context.words_of(language, coalesce(context.beginning_of_texts(content, 50000), '')));
    END IF;
    search := context.with_words(search, json_to_tsvector(config, content, '["string", "numeric"]'));
    RETURN context.with_words(
        search, strip(json_to_tsvector('pg_catalog.simple', content, '["string", "numeric"]')));
END
$$;

ALTER FUNCTION context.search_of(tenant_id uuid, language text, name text, description text, content json, content_text text) OWNER TO contextkeep_owner;

CREATE FUNCTION context.sees_record(record_id uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM context.wm_record r
        WHERE r.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND r.id = record_id
    );
END
$$;

ALTER FUNCTION context.sees_record(record_id uuid) OWNER TO contextkeep_owner;

CREATE FUNCTION context.sees_upload(upload_id uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM context.upload u
        WHERE u.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND u.id = upload_id
    );
END
$$;

ALTER FUNCTION context.sees_upload(upload_id uuid) OWNER TO contextkeep_owner;

CREATE FUNCTION context.set_tenant_limits(asking_id uuid, of_name text, changed text[], new_records_max bigint, new_bytes_max bigint, new_blob_bytes_max bigint, new_content_bytes_max bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    PERFORM access.check_operator(asking_id);
    RETURN context.put_tenant_limits(
        of_name, changed, new_records_max, new_bytes_max, new_blob_bytes_max, new_content_bytes_max
    );
END
$$;

ALTER FUNCTION context.set_tenant_limits(asking_id uuid, of_name text, changed text[], new_records_max bigint, new_bytes_max bigint, new_blob_bytes_max bigint, new_content_bytes_max bigint) OWNER TO contextkeep_owner;

CREATE FUNCTION context.spaced(said text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (octet_length(said) = char_length(said)) THEN said ELSE lower(regexp_replace(said, (('[\u0080-\u00A9\u00AB-\u00B4\u00B6-\u00B9\u00BB-\u00BF\u00D7\u00F7\u2000-\u206F\u3000-\u303F\uFF00-\uFF0F\uFF1A-\uFF20\uFF3B-\uFF40\uFF5B-\uFF65'::text || context.paired_letters()) || ']+'::text), ' '::text, 'g'::text)) END;

ALTER FUNCTION context.spaced(said text) OWNER TO contextkeep_owner;

CREATE FUNCTION context.spend_of_run(of_context_id uuid, of_window_id uuid, tokens bigint) RETURNS TABLE(spent bigint, spent_max bigint, is_over boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    run record;
BEGIN
    SELECT r.tenant_id, r.window_id, r.spent_tokens, (r.config ->> 'max_total_tokens')::bigint AS most INTO run
    FROM context.context_window w JOIN context.context_window r
        ON r.tenant_id = w.tenant_id AND r.context_id = w.run_context_id AND r.window_id = w.run_window_id
    WHERE w.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid
        AND w.context_id = of_context_id AND w.window_id = of_window_id
        AND (access.sees_all_contexts() OR w.context_id = access.context_seen())
        AND (access.sees_all_subjects() OR w.owner_user_id = ANY (access.owners_seen()))
        AND (coalesce(current_setting('app.bounds', true), '') = ''
            OR access.context_in_bounds(w.ancestors, w.agent_bundle_id, w.app_id))
        AND (r.config ->> 'max_total_tokens')::bigint > 0
    FOR UPDATE OF r;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    is_over := tokens > 0 AND run.spent_tokens + tokens > run.most;
    spent := run.spent_tokens + CASE WHEN is_over THEN 0 ELSE tokens END;
    spent_max := run.most;
    IF spent > run.spent_tokens THEN
        UPDATE context.context_window w SET spent_tokens = spent
        WHERE w.tenant_id = run.tenant_id AND w.window_id = run.window_id;
    END IF;
    RETURN NEXT;
END
$$;

ALTER FUNCTION context.spend_of_run(of_context_id uuid, of_window_id uuid, tokens bigint) OWNER TO contextkeep_owner;

CREATE FUNCTION context.stored_by(asking_id uuid, of_tenants uuid[]) RETURNS TABLE(id uuid, records bigint, size_bytes bigint, records_max bigint, bytes_max bigint, blob_bytes_max bigint, content_bytes_max bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION context.stored_by(asking_id uuid, of_tenants uuid[]) OWNER TO contextkeep_owner;

CREATE FUNCTION context.with_words(words tsvector, more tsvector) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN ((pg_column_size(words) + pg_column_size(more)) < 1000000) THEN (words || more) ELSE words END;

ALTER FUNCTION context.with_words(words tsvector, more tsvector) OWNER TO contextkeep_owner;

CREATE FUNCTION context.words_asked(language text, asked text) RETURNS tsquery
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
DECLARE
    letters text := '[' || context.paired_letters() || ']+';
    spaced text := context.spaced(asked);
    words tsquery := phraseto_tsquery(('pg_catalog.' || language)::regconfig, spaced);
    plain tsquery := phraseto_tsquery('pg_catalog.simple', spaced);
    letter_row text;
BEGIN
    IF numnode(words) = 1 AND numnode(plain) = 1 AND words <> plain THEN
        words := words || plain;
    END IF;
    IF spaced <> asked THEN
        FOR letter_row IN SELECT found.parts[1] FROM regexp_matches(asked, letters, 'g') found (parts) LOOP
            words := words && (
                SELECT string_agg(quote_literal(substr(letter_row, place, 2)), ' & ')
                    || CASE WHEN char_length(letter_row) = 1 THEN ':*' ELSE '' END
                FROM generate_series(1, greatest(char_length(letter_row) - 1, 1)) place
            )::tsquery;
        END LOOP;
    END IF;
    RETURN words;
END
$$;

ALTER FUNCTION context.words_asked(language text, asked text) OWNER TO contextkeep_owner;

CREATE FUNCTION context.words_of(language text, said text) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
DECLARE
    spaced text := context.spaced(said);
    words tsvector;
BEGIN
    words := to_tsvector(('pg_catalog.' || language)::regconfig, spaced);
    IF language <> 'simple' THEN
        words := context.with_words(words, strip(to_tsvector('pg_catalog.simple', spaced)));
    END IF;
    IF octet_length(said) > char_length(said) AND said ~ ('[' || context.paired_letters() || ']') THEN
        words := context.with_words(words, context.pairs_of(said));
    END IF;
    RETURN words;
END
$$;

ALTER FUNCTION context.words_of(language text, said text) OWNER TO contextkeep_owner;

CREATE TABLE context.agent (
    tenant_id uuid NOT NULL,
    is_template boolean NOT NULL,
    agent_id text NOT NULL,
    template_id text DEFAULT ''::text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_by text NOT NULL,
    callers jsonb,
    body jsonb NOT NULL,
    imported jsonb
);

ALTER TABLE context.agent OWNER TO contextkeep_owner;

CREATE TABLE context.artifact (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    task_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    change bigint NOT NULL,
    place bigint NOT NULL,
    version integer NOT NULL,
    part_count integer NOT NULL,
    passage_count integer NOT NULL,
    tokens integer NOT NULL,
    size_bytes integer NOT NULL,
    is_newest boolean DEFAULT true NOT NULL,
    is_complete boolean NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    created_by text NOT NULL,
    artifact_id text NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    parts json NOT NULL,
    metadata json,
    imported jsonb,
    CONSTRAINT artifact_place_check CHECK ((place < 0))
);

ALTER TABLE context.artifact OWNER TO contextkeep_owner;

CREATE TABLE context.blob (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    due_at timestamp with time zone,
    size_bytes bigint DEFAULT 0 NOT NULL,
    state text DEFAULT 'writing'::text NOT NULL,
    provider text NOT NULL,
    key text NOT NULL,
    sha256 bytea,
    crc32c bytea,
    damaged_at timestamp with time zone,
    CONSTRAINT blob_bytes_check CHECK (((state <> ALL (ARRAY['part'::text, 'live'::text])) OR ((sha256 IS NOT NULL) AND (crc32c IS NOT NULL)))),
    CONSTRAINT blob_due_check CHECK (((state = ANY (ARRAY['part'::text, 'live'::text])) = (due_at IS NULL))),
    CONSTRAINT blob_state_check CHECK ((state = ANY (ARRAY['writing'::text, 'part'::text, 'live'::text, 'deleting'::text])))
);

ALTER TABLE context.blob OWNER TO contextkeep_owner;

CREATE TABLE context.compile_state (
    tenant_id uuid NOT NULL,
    audience_id uuid NOT NULL,
    compile_id uuid NOT NULL,
    leased_until timestamp with time zone NOT NULL,
    compiled_at timestamp with time zone,
    bounds text DEFAULT COALESCE(current_setting('app.bounds'::text, true), ''::text) NOT NULL,
    place text DEFAULT ''::text NOT NULL,
    definitions jsonb DEFAULT '{}'::jsonb NOT NULL
)
WITH (fillfactor='50');

ALTER TABLE context.compile_state OWNER TO contextkeep_owner;

CREATE TABLE context.compiled_page (
    tenant_id uuid NOT NULL,
    page_id uuid NOT NULL,
    node_id uuid NOT NULL,
    audience_id uuid NOT NULL,
    compile_id uuid NOT NULL,
    compiled_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    definition_version integer NOT NULL,
    is_unbound boolean NOT NULL,
    definition_name text NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    node_type text NOT NULL,
    title text NOT NULL,
    trouble text DEFAULT ''::text NOT NULL,
    aliases text[] NOT NULL,
    sha256 bytea NOT NULL
)
WITH (fillfactor='80');

ALTER TABLE context.compiled_page OWNER TO contextkeep_owner;

CREATE TABLE context.context_external_id (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    system text NOT NULL,
    id text NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL
);

ALTER TABLE context.context_external_id OWNER TO contextkeep_owner;

CREATE TABLE context.context_window (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    window_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    closed_at timestamp with time zone,
    reached_seq bigint DEFAULT 0 NOT NULL,
    retracted_count bigint DEFAULT 0 NOT NULL,
    epoch integer DEFAULT 0 NOT NULL,
    first_number integer DEFAULT 0 NOT NULL,
    block_count integer DEFAULT 0 NOT NULL,
    left_out_tokens bigint DEFAULT 0 NOT NULL,
    context_tokens integer NOT NULL,
    token_limit integer NOT NULL,
    head_tokens integer NOT NULL,
    format text NOT NULL,
    tokens_family text NOT NULL,
    model text NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    created_by text NOT NULL,
    system_prompt text NOT NULL,
    goal text NOT NULL,
    tools json,
    profile text DEFAULT 'general'::text NOT NULL,
    config json DEFAULT '{}'::json NOT NULL,
    step_count integer DEFAULT 0 NOT NULL,
    entry_count bigint DEFAULT 0 NOT NULL,
    folded_step integer DEFAULT 0 NOT NULL,
    state_text text DEFAULT ''::text NOT NULL,
    state_pieces text DEFAULT '[]'::text NOT NULL,
    state_tokens integer DEFAULT 0 NOT NULL,
    pins_pieces text DEFAULT '[]'::text NOT NULL,
    pins_tokens integer DEFAULT 0 NOT NULL,
    spent_tokens bigint DEFAULT 0 NOT NULL,
    spent_epoch integer DEFAULT 0 NOT NULL,
    spent_seq bigint DEFAULT '-1'::integer NOT NULL,
    token_factor double precision DEFAULT 1 NOT NULL,
    bill_ratios smallint[] DEFAULT '{}'::smallint[] NOT NULL,
    has_untold boolean DEFAULT false NOT NULL,
    prepared text,
    prepared_epoch integer,
    tallies text DEFAULT '{}'::text NOT NULL,
    packed_at timestamp with time zone,
    packed_seq bigint DEFAULT 0 NOT NULL,
    checkpoint_count integer DEFAULT 0 NOT NULL,
    checkpoint_step integer DEFAULT 0 NOT NULL,
    rolled_back_epoch integer DEFAULT 0 NOT NULL,
    left_out int8multirange DEFAULT '{}'::int8multirange NOT NULL,
    model_failures smallint DEFAULT 0 NOT NULL,
    extractive_to integer DEFAULT 0 NOT NULL,
    outcomes text DEFAULT '[]'::text NOT NULL,
    run_context_id uuid,
    run_window_id uuid,
    taught_count integer DEFAULT 0 NOT NULL,
    imported jsonb,
    CONSTRAINT context_window_format_check CHECK ((format = ANY (ARRAY['openai'::text, 'openai_responses'::text, 'anthropic'::text, 'gemini'::text])))
);

ALTER TABLE context.context_window OWNER TO contextkeep_owner;

CREATE TABLE context.definition (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    version integer NOT NULL,
    state text DEFAULT 'DRAFT'::text NOT NULL,
    app_id text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    approved_at timestamp with time zone,
    retired_at timestamp with time zone,
    created_by text NOT NULL,
    approved_by text DEFAULT ''::text NOT NULL,
    rules jsonb NOT NULL,
    imported jsonb,
    CONSTRAINT definition_state_check CHECK ((state = ANY (ARRAY['DRAFT'::text, 'APPROVED'::text, 'RETIRED'::text])))
);

ALTER TABLE context.definition OWNER TO contextkeep_owner;

CREATE TABLE context.embedding (
    tenant_id uuid NOT NULL,
    owner_kind text NOT NULL,
    owner_id uuid NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    dimension integer NOT NULL,
    model text DEFAULT ''::text NOT NULL,
    text_sha256 bytea,
    vector public.halfvec NOT NULL,
    entity_node_id uuid,
    hidden_at timestamp with time zone,
    memory_type text DEFAULT ''::text NOT NULL,
    graph_name text DEFAULT 'default'::text NOT NULL,
    agent_bundle_id text DEFAULT ''::text NOT NULL,
    app_id text DEFAULT ''::text NOT NULL,
    CONSTRAINT embedding_owner_kind_check CHECK ((owner_kind <> ''::text))
);
ALTER TABLE ONLY context.embedding ALTER COLUMN vector SET STORAGE PLAIN;

ALTER TABLE context.embedding OWNER TO contextkeep_owner;

CREATE VIEW context.embedding_of_tenant AS
 SELECT tenant_id,
    owner_kind,
    owner_id,
    name,
    created_at,
    dimension,
    model,
    text_sha256,
    vector,
    entity_node_id,
    hidden_at,
    memory_type,
    graph_name,
    agent_bundle_id,
    app_id
   FROM context.embedding
  WHERE ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")) AND (NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.in_bounds(graph_name, agent_bundle_id, app_id)), false) IS NOT NULL));

ALTER VIEW context.embedding_of_tenant OWNER TO contextkeep_owner;

CREATE TABLE context.erased_blob (
    tenant_id uuid NOT NULL,
    erasure_id uuid NOT NULL,
    blob_id uuid NOT NULL
);

ALTER TABLE context.erased_blob OWNER TO contextkeep_owner;

CREATE TABLE context.erasure (
    tenant_id uuid NOT NULL,
    erasure_id uuid NOT NULL,
    context_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone,
    last_seq_removed bigint DEFAULT 0 NOT NULL,
    message_count bigint NOT NULL,
    messages_removed bigint DEFAULT 0 NOT NULL,
    passages_removed bigint DEFAULT 0 NOT NULL,
    vectors_removed bigint DEFAULT 0 NOT NULL,
    external_ids_removed bigint DEFAULT 0 NOT NULL,
    answers_removed bigint DEFAULT 0 NOT NULL,
    keys_ended bigint NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    requested_by text NOT NULL,
    tasks_removed bigint DEFAULT 0 NOT NULL,
    artifacts_removed bigint DEFAULT 0 NOT NULL,
    windows_removed bigint DEFAULT 0 NOT NULL,
    window_steps_removed bigint DEFAULT 0 NOT NULL
);

ALTER TABLE context.erasure OWNER TO contextkeep_owner;

CREATE TABLE context.facet (
    tenant_id uuid NOT NULL,
    page_id uuid NOT NULL,
    seq bigint NOT NULL,
    compile_id uuid,
    written_at timestamp with time zone DEFAULT now() NOT NULL,
    as_of timestamp with time zone NOT NULL,
    fresh_until timestamp with time zone,
    confidence double precision NOT NULL,
    place integer NOT NULL,
    definition_version integer NOT NULL,
    passage_count integer DEFAULT 0 NOT NULL,
    is_put boolean NOT NULL,
    is_cut boolean NOT NULL,
    is_declassified boolean NOT NULL,
    slug text NOT NULL,
    heading text NOT NULL,
    kind text NOT NULL,
    put_by text NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    bundles text[] NOT NULL,
    sources json NOT NULL,
    text text NOT NULL,
    CONSTRAINT facet_check CHECK ((is_declassified OR (agent_bundle_id = ''::text) OR (bundles <@ ARRAY[agent_bundle_id])))
)
WITH (fillfactor='80');

ALTER TABLE context.facet OWNER TO contextkeep_owner;

CREATE TABLE context.import (
    tenant_id uuid NOT NULL,
    import_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    state text DEFAULT 'RUNNING'::text NOT NULL,
    imported_by text NOT NULL,
    offset_bytes bigint DEFAULT 0 NOT NULL,
    pieces bigint DEFAULT 0 NOT NULL,
    seal bytea DEFAULT '\x'::bytea NOT NULL,
    manifest jsonb DEFAULT '{}'::jsonb NOT NULL,
    report jsonb DEFAULT '{}'::jsonb NOT NULL,
    open_context_id uuid,
    open_context json,
    CONSTRAINT import_state_check CHECK ((state = ANY (ARRAY['RUNNING'::text, 'DONE'::text, 'GIVEN_UP'::text])))
);

ALTER TABLE context.import OWNER TO contextkeep_owner;

CREATE TABLE context.job (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    kind text NOT NULL,
    state text DEFAULT 'RUNNING'::text NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone,
    started_by text NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    options jsonb NOT NULL,
    progress jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT job_kind_check CHECK ((kind = ANY (ARRAY['SWEEP'::text, 'FSCK'::text]))),
    CONSTRAINT job_state_check CHECK ((state = ANY (ARRAY['RUNNING'::text, 'DONE'::text, 'FAILED'::text])))
);

ALTER TABLE context.job OWNER TO contextkeep_owner;

CREATE TABLE context.knowledge_base (
    tenant_id uuid NOT NULL,
    base_id uuid NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    is_of_tenant boolean NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    document_count integer DEFAULT 0 NOT NULL,
    size_bytes bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_by text NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    bedrock_id text DEFAULT ''::text NOT NULL,
    bedrock_region text DEFAULT ''::text NOT NULL,
    imported jsonb
)
WITH (fillfactor='50');

ALTER TABLE context.knowledge_base OWNER TO contextkeep_owner;

CREATE TABLE context.knowledge_document (
    tenant_id uuid NOT NULL,
    document_id uuid NOT NULL,
    base_id uuid NOT NULL,
    seq bigint NOT NULL,
    record_id uuid,
    record_version integer,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    size_bytes bigint NOT NULL,
    passage_count integer DEFAULT 0 NOT NULL,
    is_cut boolean DEFAULT false NOT NULL,
    state text DEFAULT 'QUEUED'::text NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    name text NOT NULL,
    uri text NOT NULL,
    content_type text NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    created_by text NOT NULL,
    starts integer[] DEFAULT '{}'::integer[] NOT NULL,
    ends integer[] DEFAULT '{}'::integer[] NOT NULL,
    pages integer[] DEFAULT '{}'::integer[] NOT NULL,
    headings text[] DEFAULT '{}'::text[] NOT NULL,
    text text DEFAULT ''::text NOT NULL,
    page_starts integer[] DEFAULT '{}'::integer[] NOT NULL,
    imported jsonb,
    CONSTRAINT knowledge_document_state_check CHECK ((state = ANY (ARRAY['QUEUED'::text, 'PARSING'::text, 'INDEXED'::text, 'FAILED'::text])))
)
WITH (fillfactor='80');

ALTER TABLE context.knowledge_document OWNER TO contextkeep_owner;

CREATE TABLE context.knowledge_file (
    tenant_id uuid NOT NULL,
    document_id uuid NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    data bytea NOT NULL
);
ALTER TABLE ONLY context.knowledge_file ALTER COLUMN data SET STORAGE EXTERNAL;

ALTER TABLE context.knowledge_file OWNER TO contextkeep_owner;

CREATE TABLE context.mapping (
    tenant_id uuid NOT NULL,
    app_id text NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    rules_version bigint NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    rules jsonb NOT NULL,
    created_by text NOT NULL,
    imported jsonb
);

ALTER TABLE context.mapping OWNER TO contextkeep_owner;

CREATE TABLE context.mapping_revision (
    singleton boolean DEFAULT true NOT NULL,
    revision bigint NOT NULL,
    CONSTRAINT mapping_revision_singleton_check CHECK (singleton)
);

ALTER TABLE context.mapping_revision OWNER TO contextkeep_owner;

CREATE TABLE context.mcp_server (
    tenant_id uuid NOT NULL,
    server_id text NOT NULL COLLATE pg_catalog."C",
    version integer DEFAULT 1 NOT NULL,
    display_name text NOT NULL,
    url text NOT NULL,
    is_disabled boolean NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_by text NOT NULL,
    secret bytea,
    secret_key_id text DEFAULT ''::text NOT NULL,
    protocol text DEFAULT ''::text NOT NULL,
    discovered_at timestamp with time zone,
    imported jsonb
);

ALTER TABLE context.mcp_server OWNER TO contextkeep_owner;

CREATE TABLE context.mcp_tool (
    tenant_id uuid NOT NULL,
    server_id text NOT NULL COLLATE pg_catalog."C",
    tool_name text NOT NULL COLLATE pg_catalog."C",
    provider_id text NOT NULL,
    definition text NOT NULL,
    definition_sha256 text NOT NULL,
    is_gone boolean DEFAULT false NOT NULL,
    discovered_at timestamp with time zone NOT NULL,
    approved_sha256 text DEFAULT ''::text NOT NULL,
    approved_by text DEFAULT ''::text NOT NULL,
    approved_at timestamp with time zone,
    search_safe_recorded_by text DEFAULT ''::text NOT NULL,
    is_default boolean DEFAULT false NOT NULL,
    arguments text DEFAULT ''::text NOT NULL,
    imported jsonb,
    CONSTRAINT mcp_tool_check CHECK (((approved_sha256 <> ''::text) OR (NOT is_default)))
);

ALTER TABLE context.mcp_tool OWNER TO contextkeep_owner;

CREATE TABLE context.memory (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    seq bigint NOT NULL,
    happened_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    superseded_by uuid,
    confidence double precision NOT NULL,
    quality double precision,
    version integer DEFAULT 1 NOT NULL,
    passage_count integer NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    created_by text NOT NULL,
    kind text NOT NULL,
    key text NOT NULL,
    text text NOT NULL,
    goal text NOT NULL,
    outcome text NOT NULL,
    sources jsonb NOT NULL,
    statement_sha256 bytea NOT NULL,
    imported jsonb,
    CONSTRAINT memory_kind_check CHECK ((kind = ANY (ARRAY['fact'::text, 'preference'::text, 'experience'::text, 'observation'::text]))),
    CONSTRAINT memory_owner_user_id_check CHECK ((owner_user_id <> ''::text))
);

ALTER TABLE context.memory OWNER TO contextkeep_owner;

CREATE TABLE context.memory_user (
    tenant_id uuid NOT NULL,
    scope_id uuid NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    memory_count bigint NOT NULL,
    CONSTRAINT memory_user_owner_user_id_check CHECK ((owner_user_id <> ''::text))
)
WITH (fillfactor='50');

ALTER TABLE context.memory_user OWNER TO contextkeep_owner;

CREATE TABLE context.message (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    seq bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    said_at timestamp with time zone NOT NULL,
    retracted_at timestamp with time zone,
    session bigint NOT NULL,
    tokens integer NOT NULL,
    size_bytes integer NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    message_id text NOT NULL,
    role text NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    agent_id text DEFAULT ''::text NOT NULL,
    content text DEFAULT ''::text NOT NULL,
    content_sha256 bytea NOT NULL,
    parts json,
    metadata json,
    task_id uuid,
    reference_task_ids uuid[],
    retracted_change bigint,
    CONSTRAINT message_role_check CHECK ((role = ANY (ARRAY['user'::text, 'assistant'::text, 'system'::text, 'tool'::text])))
);

ALTER TABLE context.message OWNER TO contextkeep_owner;

CREATE TABLE context.migration (
    version integer NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE context.migration OWNER TO contextkeep_owner;

CREATE TABLE context.outbox (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    due_at timestamp with time zone DEFAULT now() NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    topic text NOT NULL,
    subject_id uuid NOT NULL,
    payload jsonb DEFAULT '{}'::jsonb NOT NULL,
    last_error text DEFAULT ''::text NOT NULL
);

ALTER TABLE context.outbox OWNER TO contextkeep_owner;

CREATE TABLE context.page_dependency (
    tenant_id uuid NOT NULL,
    node_id uuid NOT NULL,
    page_id uuid NOT NULL,
    bits smallint NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    node_owner_id text
);

ALTER TABLE context.page_dependency OWNER TO contextkeep_owner;

CREATE TABLE context.passage (
    tenant_id uuid NOT NULL,
    scope_id uuid NOT NULL,
    context_id uuid,
    task_id uuid,
    source_id uuid,
    seq bigint NOT NULL,
    session bigint NOT NULL,
    said_at timestamp with time zone NOT NULL,
    ordinal integer NOT NULL,
    part integer NOT NULL,
    place integer,
    length_before integer NOT NULL,
    marks smallint NOT NULL,
    scope_kind text NOT NULL,
    kind text NOT NULL,
    role text NOT NULL,
    author text NOT NULL,
    owner_user_id text NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    ancestors uuid[] NOT NULL,
    terms integer[] NOT NULL,
    text text NOT NULL,
    CONSTRAINT passage_context_check CHECK ((
CASE
    WHEN (context_id IS NULL) THEN ((scope_kind <> 'context'::text) AND (ancestors = '{}'::uuid[]))
    ELSE (context_id = ANY (ancestors))
END AND ((scope_kind <> 'context'::text) OR (context_id = scope_id))))
);

ALTER TABLE context.passage OWNER TO contextkeep_owner;

CREATE VIEW context.passage_of_tenant AS
 SELECT tenant_id,
    scope_id,
    context_id,
    task_id,
    source_id,
    seq,
    session,
    said_at,
    ordinal,
    part,
    place,
    length_before,
    marks,
    scope_kind,
    kind,
    role,
    author,
    owner_user_id,
    graph_name,
    agent_bundle_id,
    app_id,
    ancestors,
    terms,
    text
   FROM context.passage
  WHERE ((NULLIF((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")), false) IS NOT NULL) AND (NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.passage_in_bounds(context_id, ancestors, graph_name, agent_bundle_id, app_id)), false) IS NOT NULL) AND (NULLIF((( SELECT access.sees_all_contexts() AS sees_all_contexts) OR (context_id IS NULL) OR (context_id = ( SELECT access.context_seen() AS context_seen))), false) IS NOT NULL) AND (NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

ALTER VIEW context.passage_of_tenant OWNER TO contextkeep_owner;

CREATE TABLE context.passage_scope (
    tenant_id uuid NOT NULL,
    scope_id uuid NOT NULL,
    context_id uuid,
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    passages bigint NOT NULL,
    sessions bigint NOT NULL,
    length bigint NOT NULL,
    length_before bigint NOT NULL,
    length_after bigint NOT NULL,
    scope_kind text NOT NULL,
    owner_user_id text NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    ancestors uuid[] NOT NULL,
    authors text[] NOT NULL,
    CONSTRAINT passage_scope_context_check CHECK ((
CASE
    WHEN (context_id IS NULL) THEN ((scope_kind <> 'context'::text) AND (ancestors = '{}'::uuid[]))
    ELSE (context_id = ANY (ancestors))
END AND ((scope_kind <> 'context'::text) OR (context_id = scope_id))))
)
WITH (fillfactor='50');

ALTER TABLE context.passage_scope OWNER TO contextkeep_owner;

CREATE TABLE context.passage_session (
    tenant_id uuid NOT NULL,
    scope_id uuid NOT NULL,
    context_id uuid,
    session bigint NOT NULL,
    passages bigint NOT NULL,
    length bigint NOT NULL,
    places integer NOT NULL,
    last_length integer NOT NULL,
    length_before_last integer NOT NULL,
    scope_kind text NOT NULL,
    owner_user_id text NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    ancestors uuid[] NOT NULL,
    CONSTRAINT passage_session_context_check CHECK ((
CASE
    WHEN (context_id IS NULL) THEN ((scope_kind <> 'context'::text) AND (ancestors = '{}'::uuid[]))
    ELSE (context_id = ANY (ancestors))
END AND ((scope_kind <> 'context'::text) OR (context_id = scope_id))))
)
WITH (fillfactor='50');

ALTER TABLE context.passage_session OWNER TO contextkeep_owner;

CREATE TABLE context.passage_vector (
    tenant_id uuid NOT NULL,
    scope_id uuid NOT NULL,
    context_id uuid,
    seq bigint NOT NULL,
    previous_seq bigint,
    ordinal integer NOT NULL,
    previous_ordinal integer,
    previous_cosine real,
    scope_kind text NOT NULL,
    owner_user_id text NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    ancestors uuid[] NOT NULL,
    model text NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    vector public.halfvec,
    CONSTRAINT passage_vector_context_check CHECK ((
CASE
    WHEN (context_id IS NULL) THEN ((scope_kind <> 'context'::text) AND (ancestors = '{}'::uuid[]))
    ELSE (context_id = ANY (ancestors))
END AND ((scope_kind <> 'context'::text) OR (context_id = scope_id)))),
    CONSTRAINT passage_vector_made_check CHECK (((vector IS NULL) = (error <> ''::text)))
);
ALTER TABLE ONLY context.passage_vector ALTER COLUMN vector SET STORAGE PLAIN;

ALTER TABLE context.passage_vector OWNER TO contextkeep_owner;

CREATE TABLE context.provider_setting (
    tenant_id uuid NOT NULL,
    provider_id text NOT NULL,
    setting jsonb NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_by text NOT NULL,
    imported jsonb
);

ALTER TABLE context.provider_setting OWNER TO contextkeep_owner;

CREATE TABLE context.request (
    tenant_id uuid NOT NULL,
    request_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    rpc text NOT NULL,
    fingerprint bytea NOT NULL,
    answer jsonb NOT NULL,
    bounds text DEFAULT COALESCE(current_setting('app.bounds'::text, true), ''::text) NOT NULL,
    about_id uuid,
    subject text DEFAULT NULLIF(current_setting('app.subject'::text, true), ''::text)
);

ALTER TABLE context.request OWNER TO contextkeep_owner;

CREATE TABLE context.source_test (
    tenant_id uuid NOT NULL,
    test_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    replay_of uuid,
    context_ids uuid[] NOT NULL,
    owner_user_id text NOT NULL,
    created_by text NOT NULL,
    label text NOT NULL,
    warnings text[] NOT NULL,
    outcome jsonb NOT NULL,
    question bytea NOT NULL,
    answer bytea NOT NULL,
    imported jsonb
);

ALTER TABLE context.source_test OWNER TO contextkeep_owner;

CREATE TABLE context.specialist (
    tenant_id uuid NOT NULL,
    specialist_id text NOT NULL COLLATE pg_catalog."C",
    version integer DEFAULT 1 NOT NULL,
    display_name text NOT NULL,
    instructions text NOT NULL,
    node_ids uuid[] NOT NULL,
    steps_max integer NOT NULL,
    is_default boolean NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_by text NOT NULL,
    imported jsonb
);

ALTER TABLE context.specialist OWNER TO contextkeep_owner;

CREATE TABLE context.subject_erasure (
    tenant_id uuid NOT NULL,
    erasure_id uuid NOT NULL,
    subject text,
    subject_sha256 bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone,
    due_at timestamp with time zone DEFAULT now() NOT NULL,
    removed jsonb DEFAULT '{}'::jsonb NOT NULL,
    requested_by text NOT NULL
);

ALTER TABLE context.subject_erasure OWNER TO contextkeep_owner;

CREATE TABLE context.task (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    task_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    status_at timestamp with time zone DEFAULT now() NOT NULL,
    change bigint NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    state text NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    created_by text NOT NULL,
    reference_task_ids uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    status_message json,
    metadata json,
    imported jsonb,
    CONSTRAINT task_state_check CHECK ((state = ANY (ARRAY['submitted'::text, 'working'::text, 'input_required'::text, 'auth_required'::text, 'completed'::text, 'failed'::text, 'canceled'::text, 'rejected'::text])))
);

ALTER TABLE context.task OWNER TO contextkeep_owner;

CREATE TABLE context.tenant_limit (
    tenant_id uuid NOT NULL,
    blob_bytes_max bigint,
    content_bytes_max bigint,
    bytes_max bigint,
    records_max bigint,
    CONSTRAINT tenant_limit_blob_bytes_max_check CHECK ((blob_bytes_max > 0)),
    CONSTRAINT tenant_limit_bytes_max_check CHECK ((bytes_max >= 0)),
    CONSTRAINT tenant_limit_content_bytes_max_check CHECK ((content_bytes_max > 0)),
    CONSTRAINT tenant_limit_records_max_check CHECK ((records_max >= 0))
);

ALTER TABLE context.tenant_limit OWNER TO contextkeep_owner;

CREATE TABLE context.tenant_usage (
    tenant_id uuid NOT NULL,
    shard smallint NOT NULL,
    records bigint NOT NULL,
    size_bytes bigint NOT NULL
)
WITH (fillfactor='50');

ALTER TABLE context.tenant_usage OWNER TO contextkeep_owner;

CREATE TABLE context.token_calibration (
    tenant_id uuid NOT NULL,
    model_sha bytea NOT NULL,
    profile text NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    ratios smallint[] DEFAULT '{}'::smallint[] NOT NULL,
    factor double precision DEFAULT 1 NOT NULL
);

ALTER TABLE context.token_calibration OWNER TO contextkeep_owner;

CREATE TABLE context.upload (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    due_at timestamp with time zone NOT NULL,
    size_bytes bigint,
    sha256 bytea,
    record jsonb NOT NULL,
    subject text DEFAULT NULLIF(current_setting('app.subject'::text, true), ''::text)
);

ALTER TABLE context.upload OWNER TO contextkeep_owner;

CREATE TABLE context.upload_part (
    tenant_id uuid NOT NULL,
    upload_id uuid NOT NULL,
    blob_id uuid NOT NULL,
    offset_bytes bigint NOT NULL,
    size_bytes bigint NOT NULL,
    number integer NOT NULL,
    CONSTRAINT upload_part_offset_bytes_check CHECK ((offset_bytes >= 0)),
    CONSTRAINT upload_part_size_bytes_check CHECK ((size_bytes > 0))
);

ALTER TABLE context.upload_part OWNER TO contextkeep_owner;

CREATE TABLE context.wiki_citation (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    page_id uuid NOT NULL,
    memory_version integer NOT NULL,
    was_superseded boolean NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL
);

ALTER TABLE context.wiki_citation OWNER TO contextkeep_owner;

CREATE TABLE context.wiki_page (
    tenant_id uuid NOT NULL,
    page_id uuid NOT NULL,
    scope_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    as_of timestamp with time zone DEFAULT now() NOT NULL,
    fresh_until timestamp with time zone,
    version integer NOT NULL,
    slug text NOT NULL,
    title text NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    created_by text NOT NULL,
    imported jsonb,
    CONSTRAINT wiki_page_owner_user_id_check CHECK ((owner_user_id <> ''::text))
)
WITH (fillfactor='80');

ALTER TABLE context.wiki_page OWNER TO contextkeep_owner;

CREATE TABLE context.wiki_page_name (
    tenant_id uuid NOT NULL,
    name_id uuid NOT NULL,
    page_id uuid NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL
);

ALTER TABLE context.wiki_page_name OWNER TO contextkeep_owner;

CREATE TABLE context.wiki_page_version (
    tenant_id uuid NOT NULL,
    page_id uuid NOT NULL,
    version integer NOT NULL,
    seq bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    size_bytes integer NOT NULL,
    passage_count integer NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    created_by text NOT NULL,
    sha256 bytea NOT NULL,
    title text NOT NULL,
    aliases text[] NOT NULL,
    memory_ids uuid[] NOT NULL,
    sources json NOT NULL,
    headings text[] NOT NULL,
    markdown text NOT NULL,
    imported jsonb
);

ALTER TABLE context.wiki_page_version OWNER TO contextkeep_owner;

CREATE TABLE context.window_block (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    window_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    number integer NOT NULL,
    tokens integer NOT NULL,
    seq_from bigint NOT NULL,
    seq_to bigint NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    pieces text NOT NULL,
    step integer DEFAULT 0 NOT NULL,
    kind text DEFAULT 'step'::text NOT NULL,
    is_error boolean DEFAULT false NOT NULL,
    is_masked boolean DEFAULT false NOT NULL,
    masked text,
    masked_tokens integer,
    units text DEFAULT '[]'::text NOT NULL,
    names text DEFAULT '[]'::text NOT NULL,
    renderer smallint DEFAULT 1 NOT NULL,
    tools text DEFAULT '[]'::text NOT NULL,
    masked_epoch integer,
    epoch_to integer,
    refs text DEFAULT ''::text NOT NULL
);

ALTER TABLE context.window_block OWNER TO contextkeep_owner;

CREATE TABLE context.window_checkpoint (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    window_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    number integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    epoch integer NOT NULL,
    reached_seq bigint NOT NULL,
    entry_count bigint NOT NULL,
    block_count integer NOT NULL,
    step_count integer NOT NULL,
    folded_step integer NOT NULL,
    first_number integer NOT NULL,
    left_out_tokens bigint NOT NULL,
    state_tokens integer NOT NULL,
    has_untold boolean NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    reason text NOT NULL,
    created_by text NOT NULL,
    label text NOT NULL,
    state_text text NOT NULL,
    state_pieces text NOT NULL,
    tallies text NOT NULL,
    imported jsonb
);

ALTER TABLE context.window_checkpoint OWNER TO contextkeep_owner;

CREATE TABLE context.window_entry (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    window_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    number bigint NOT NULL,
    seq bigint NOT NULL,
    section text NOT NULL,
    key text NOT NULL,
    text text NOT NULL,
    value text NOT NULL,
    ref text NOT NULL,
    source text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    superseded_by bigint,
    ended_at timestamp with time zone,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    ended_seq bigint,
    is_told boolean DEFAULT true NOT NULL,
    ended_checkpoint integer,
    told_checkpoint integer
);

ALTER TABLE context.window_entry OWNER TO contextkeep_owner;

CREATE TABLE context.window_fold (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    window_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    epoch integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    reason text NOT NULL,
    last_seq bigint NOT NULL,
    step integer NOT NULL,
    tokens_before integer NOT NULL,
    tokens_after integer NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    receipt json NOT NULL
);

ALTER TABLE context.window_fold OWNER TO contextkeep_owner;

CREATE TABLE context.window_fork (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    window_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    number integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    ended_at timestamp with time zone,
    fork_context_id uuid NOT NULL,
    fork_window_id uuid NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    merged_seq bigint,
    merged_id text,
    merged_tokens integer,
    is_whole boolean
);

ALTER TABLE context.window_fork OWNER TO contextkeep_owner;

CREATE TABLE context.window_learning (
    tenant_id uuid NOT NULL,
    profile text NOT NULL,
    app_id text NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    counts jsonb DEFAULT '{}'::jsonb NOT NULL,
    context_count integer DEFAULT 0 NOT NULL,
    is_frozen boolean DEFAULT false NOT NULL,
    version integer DEFAULT 0 NOT NULL,
    learned_count integer DEFAULT 0 NOT NULL
);

ALTER TABLE context.window_learning OWNER TO contextkeep_owner;

CREATE TABLE context.window_profile (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    version integer DEFAULT 0 NOT NULL,
    version_count integer DEFAULT 0 NOT NULL
);

ALTER TABLE context.window_profile OWNER TO contextkeep_owner;

CREATE TABLE context.window_profile_version (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    version integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    sha256 bytea NOT NULL,
    created_by text NOT NULL,
    text text NOT NULL,
    base text DEFAULT ''::text NOT NULL,
    app_id text DEFAULT ''::text NOT NULL,
    context_count integer DEFAULT 0 NOT NULL,
    learned jsonb,
    evidence jsonb,
    imported jsonb
);

ALTER TABLE context.window_profile_version OWNER TO contextkeep_owner;

CREATE TABLE context.window_summary (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    window_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    level smallint NOT NULL,
    step_from integer NOT NULL,
    step_to integer NOT NULL,
    seq_from bigint NOT NULL,
    seq_to bigint NOT NULL,
    tokens integer NOT NULL,
    epoch_from integer NOT NULL,
    epoch_to integer,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    text text NOT NULL,
    pieces text NOT NULL,
    kept text NOT NULL,
    method text DEFAULT 'extractive'::text NOT NULL,
    verdict text DEFAULT ''::text NOT NULL
);

ALTER TABLE context.window_summary OWNER TO contextkeep_owner;

CREATE TABLE context.window_usage (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    window_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    epoch integer NOT NULL,
    calls bigint NOT NULL,
    pack_tokens bigint NOT NULL,
    input_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    cache_write_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL
);

ALTER TABLE context.window_usage OWNER TO contextkeep_owner;

CREATE VIEW context.wm_record_of_tenant AS
 SELECT tenant_id,
    id,
    entity_node_id,
    blob_id,
    context_id,
    created_at,
    updated_at,
    expires_at,
    archived_at,
    seq,
    size_bytes,
    version,
    blob_key,
    provider,
    sha256,
    memory_type,
    subtype,
    semantic_purpose,
    name,
    description,
    reasoning,
    content_type,
    graph_name,
    agent_bundle_id,
    app_id,
    created_by,
    owner_user_id,
    agent_id,
    index_state,
    index_error,
    tags,
    metadata,
    content,
    search,
    name_search,
    is_visible
   FROM ( SELECT wm_record.tenant_id,
            wm_record.id,
            wm_record.entity_node_id,
            wm_record.blob_id,
            wm_record.context_id,
            wm_record.created_at,
            wm_record.updated_at,
            wm_record.expires_at,
            wm_record.archived_at,
            wm_record.seq,
            wm_record.size_bytes,
            wm_record.version,
            wm_record.blob_key,
            wm_record.provider,
            wm_record.sha256,
            wm_record.memory_type,
            wm_record.subtype,
            wm_record.semantic_purpose,
            wm_record.name,
            wm_record.description,
            wm_record.reasoning,
            wm_record.content_type,
            wm_record.graph_name,
            wm_record.agent_bundle_id,
            wm_record.app_id,
            wm_record.created_by,
            wm_record.owner_user_id,
            wm_record.agent_id,
            wm_record.index_state,
            wm_record.index_error,
            wm_record.tags,
            wm_record.metadata,
            wm_record.content,
            wm_record.search,
            wm_record.name_search,
            ((wm_record.tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")) AND (NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.in_bounds(wm_record.graph_name, wm_record.agent_bundle_id, wm_record.app_id)), false) IS NOT NULL)) AS is_visible
           FROM context.wm_record) r
  WHERE is_visible;

ALTER VIEW context.wm_record_of_tenant OWNER TO contextkeep_owner;

ALTER TABLE ONLY context.action
    ADD CONSTRAINT action_pkey PRIMARY KEY (tenant_id, record_id, seq);

ALTER TABLE ONLY context.agent
    ADD CONSTRAINT agent_pkey PRIMARY KEY (tenant_id, is_template, agent_id);

ALTER TABLE ONLY context.artifact
    ADD CONSTRAINT artifact_pkey PRIMARY KEY (tenant_id, task_id, artifact_id, version);

ALTER TABLE ONLY context.blob
    ADD CONSTRAINT blob_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY context.compile_state
    ADD CONSTRAINT compile_state_pkey PRIMARY KEY (tenant_id, audience_id);

ALTER TABLE ONLY context.compiled_page
    ADD CONSTRAINT compiled_page_pkey PRIMARY KEY (tenant_id, page_id);

ALTER TABLE ONLY context.context_external_id
    ADD CONSTRAINT context_external_id_pkey PRIMARY KEY (tenant_id, system, id, context_id);

ALTER TABLE ONLY context.context
    ADD CONSTRAINT context_pkey PRIMARY KEY (tenant_id, context_id);

ALTER TABLE ONLY context.context_window
    ADD CONSTRAINT context_window_pkey PRIMARY KEY (tenant_id, window_id);

ALTER TABLE ONLY context.definition
    ADD CONSTRAINT definition_pkey PRIMARY KEY (tenant_id, name, version);

ALTER TABLE ONLY context.embedding
    ADD CONSTRAINT embedding_pkey PRIMARY KEY (tenant_id, owner_kind, owner_id, name);

ALTER TABLE ONLY context.erased_blob
    ADD CONSTRAINT erased_blob_pkey PRIMARY KEY (tenant_id, erasure_id, blob_id);

ALTER TABLE ONLY context.erasure
    ADD CONSTRAINT erasure_pkey PRIMARY KEY (tenant_id, context_id);

ALTER TABLE ONLY context.facet
    ADD CONSTRAINT facet_pkey PRIMARY KEY (tenant_id, page_id, is_put, slug);

ALTER TABLE ONLY context.hold
    ADD CONSTRAINT hold_pkey PRIMARY KEY (tenant_id, hold_id);

ALTER TABLE ONLY context.import
    ADD CONSTRAINT import_pkey PRIMARY KEY (tenant_id, import_id);

ALTER TABLE ONLY context.job
    ADD CONSTRAINT job_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY context.knowledge_base
    ADD CONSTRAINT knowledge_base_pkey PRIMARY KEY (tenant_id, name);

ALTER TABLE ONLY context.knowledge_document
    ADD CONSTRAINT knowledge_document_pkey PRIMARY KEY (tenant_id, document_id);

ALTER TABLE ONLY context.knowledge_file
    ADD CONSTRAINT knowledge_file_pkey PRIMARY KEY (tenant_id, document_id);

ALTER TABLE ONLY context.mapping
    ADD CONSTRAINT mapping_pkey PRIMARY KEY (tenant_id, app_id, name);

ALTER TABLE ONLY context.mapping_revision
    ADD CONSTRAINT mapping_revision_pkey PRIMARY KEY (singleton);

ALTER TABLE ONLY context.mcp_server
    ADD CONSTRAINT mcp_server_pkey PRIMARY KEY (tenant_id, server_id);

ALTER TABLE ONLY context.mcp_tool
    ADD CONSTRAINT mcp_tool_pkey PRIMARY KEY (tenant_id, server_id, tool_name);

ALTER TABLE ONLY context.memory
    ADD CONSTRAINT memory_pkey PRIMARY KEY (tenant_id, memory_id);

ALTER TABLE ONLY context.memory_user
    ADD CONSTRAINT memory_user_pkey PRIMARY KEY (tenant_id, owner_user_id, app_id, agent_bundle_id);

ALTER TABLE ONLY context.message
    ADD CONSTRAINT message_pkey PRIMARY KEY (tenant_id, context_id, seq);

ALTER TABLE ONLY context.message_record
    ADD CONSTRAINT message_record_pkey PRIMARY KEY (tenant_id, context_id, seq, part);

ALTER TABLE ONLY context.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (version);

ALTER TABLE ONLY context.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY context.page_dependency
    ADD CONSTRAINT page_dependency_pkey PRIMARY KEY (tenant_id, node_id, page_id);

ALTER TABLE ONLY context.passage
    ADD CONSTRAINT passage_pkey PRIMARY KEY (tenant_id, scope_id, scope_kind, seq, ordinal);

ALTER TABLE ONLY context.passage_scope
    ADD CONSTRAINT passage_scope_pkey PRIMARY KEY (tenant_id, scope_id, scope_kind, owner_user_id, graph_name, agent_bundle_id, app_id);

ALTER TABLE ONLY context.passage_session
    ADD CONSTRAINT passage_session_pkey PRIMARY KEY (tenant_id, scope_id, scope_kind, session);

ALTER TABLE ONLY context.passage_vector
    ADD CONSTRAINT passage_vector_pkey PRIMARY KEY (tenant_id, scope_id, scope_kind, seq, ordinal) INCLUDE (model);

ALTER TABLE ONLY context.provider_setting
    ADD CONSTRAINT provider_setting_pkey PRIMARY KEY (tenant_id, provider_id);

ALTER TABLE ONLY context.request
    ADD CONSTRAINT request_pkey PRIMARY KEY (tenant_id, request_id);

ALTER TABLE ONLY context.source_test
    ADD CONSTRAINT source_test_pkey PRIMARY KEY (tenant_id, test_id);

ALTER TABLE ONLY context.specialist
    ADD CONSTRAINT specialist_pkey PRIMARY KEY (tenant_id, specialist_id);

ALTER TABLE ONLY context.subject_erasure
    ADD CONSTRAINT subject_erasure_pkey PRIMARY KEY (tenant_id, erasure_id);

ALTER TABLE ONLY context.task
    ADD CONSTRAINT task_pkey PRIMARY KEY (tenant_id, task_id);

ALTER TABLE ONLY context.tenant_limit
    ADD CONSTRAINT tenant_limit_pkey PRIMARY KEY (tenant_id);

ALTER TABLE ONLY context.tenant_usage
    ADD CONSTRAINT tenant_usage_pkey PRIMARY KEY (tenant_id, shard);

ALTER TABLE ONLY context.token_calibration
    ADD CONSTRAINT token_calibration_pkey PRIMARY KEY (tenant_id, model_sha, profile);

ALTER TABLE ONLY context.upload_part
    ADD CONSTRAINT upload_part_pkey PRIMARY KEY (tenant_id, upload_id, offset_bytes);

ALTER TABLE ONLY context.upload
    ADD CONSTRAINT upload_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY context.wiki_citation
    ADD CONSTRAINT wiki_citation_pkey PRIMARY KEY (tenant_id, memory_id, page_id);

ALTER TABLE ONLY context.wiki_page_name
    ADD CONSTRAINT wiki_page_name_pkey PRIMARY KEY (tenant_id, name_id);

ALTER TABLE ONLY context.wiki_page
    ADD CONSTRAINT wiki_page_pkey PRIMARY KEY (tenant_id, page_id);

ALTER TABLE ONLY context.wiki_page_version
    ADD CONSTRAINT wiki_page_version_pkey PRIMARY KEY (tenant_id, page_id, version);

ALTER TABLE ONLY context.window_block
    ADD CONSTRAINT window_block_pkey PRIMARY KEY (tenant_id, window_id, number);

ALTER TABLE ONLY context.window_checkpoint
    ADD CONSTRAINT window_checkpoint_pkey PRIMARY KEY (tenant_id, window_id, number);

ALTER TABLE ONLY context.window_entry
    ADD CONSTRAINT window_entry_pkey PRIMARY KEY (tenant_id, window_id, number);

ALTER TABLE ONLY context.window_fold
    ADD CONSTRAINT window_fold_pkey PRIMARY KEY (tenant_id, window_id, epoch);

ALTER TABLE ONLY context.window_fork
    ADD CONSTRAINT window_fork_pkey PRIMARY KEY (tenant_id, context_id, number);

ALTER TABLE ONLY context.window_learning
    ADD CONSTRAINT window_learning_pkey PRIMARY KEY (tenant_id, profile, app_id);

ALTER TABLE ONLY context.window_profile
    ADD CONSTRAINT window_profile_pkey PRIMARY KEY (tenant_id, name);

ALTER TABLE ONLY context.window_profile_version
    ADD CONSTRAINT window_profile_version_pkey PRIMARY KEY (tenant_id, name, version);

ALTER TABLE ONLY context.window_summary
    ADD CONSTRAINT window_summary_pkey PRIMARY KEY (tenant_id, window_id, step_from, level);

ALTER TABLE ONLY context.window_usage
    ADD CONSTRAINT window_usage_pkey PRIMARY KEY (tenant_id, window_id, epoch);

ALTER TABLE context.wm_record
    ADD CONSTRAINT wm_record_content_text_check CHECK (((blob_id IS NULL) OR (content_text IS NULL))) NOT VALID;

ALTER TABLE ONLY context.wm_record
    ADD CONSTRAINT wm_record_pkey PRIMARY KEY (tenant_id, id);

CREATE INDEX action_entity ON context.action USING btree (tenant_id, entity_node_id, created_at, seq) WHERE (entity_node_id IS NOT NULL);

CREATE INDEX agent_of_template ON context.agent USING btree (tenant_id, template_id) WHERE (template_id <> ''::text);

CREATE INDEX artifact_change ON context.artifact USING btree (tenant_id, context_id, change);

CREATE UNIQUE INDEX artifact_newest ON context.artifact USING btree (tenant_id, task_id, artifact_id) WHERE is_newest;

CREATE UNIQUE INDEX artifact_place ON context.artifact USING btree (tenant_id, context_id, place);

CREATE UNIQUE INDEX blob_content ON context.blob USING btree (tenant_id, provider, sha256, size_bytes) WHERE ((state = 'live'::text) AND (damaged_at IS NULL));

CREATE INDEX blob_due ON context.blob USING btree (tenant_id, due_at) WHERE (state <> 'live'::text);

CREATE UNIQUE INDEX blob_key ON context.blob USING btree (tenant_id, provider, key);

CREATE INDEX compiled_page_list ON context.compiled_page USING btree (tenant_id, definition_name COLLATE "C", page_id);

CREATE INDEX compiled_page_node ON context.compiled_page USING btree (tenant_id, node_id);

CREATE INDEX context_expiry ON context.context USING btree (tenant_id, expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX context_external_id_of ON context.context_external_id USING btree (tenant_id, context_id);

CREATE INDEX context_forked ON context.context USING btree (tenant_id, (ancestors[1]), context_id) WHERE (ancestors[2] IS NOT NULL);

CREATE INDEX context_newest ON context.context USING btree (tenant_id, created_at DESC, context_id DESC);

CREATE UNIQUE INDEX context_only ON context.context USING btree (tenant_id, owner_user_id, app_id, agent_bundle_id, only_system, only_id) WHERE (only_system IS NOT NULL);

CREATE INDEX context_owner ON context.context USING btree (tenant_id, owner_user_id) WHERE (owner_user_id <> ''::text);

CREATE UNIQUE INDEX definition_approved ON context.definition USING btree (tenant_id, name) WHERE (state = 'APPROVED'::text);

CREATE INDEX embedding_agent_bundle ON context.embedding USING btree (tenant_id, agent_bundle_id);

CREATE INDEX embedding_app ON context.embedding USING btree (tenant_id, app_id);

CREATE INDEX embedding_entity ON context.embedding USING btree (tenant_id, entity_node_id);

CREATE INDEX embedding_graph ON context.embedding USING btree (tenant_id, graph_name);

CREATE INDEX embedding_memory_type ON context.embedding USING btree (tenant_id, memory_type);

CREATE INDEX erasure_finished ON context.erasure USING btree (tenant_id, finished_at, context_id);

CREATE UNIQUE INDEX erasure_id ON context.erasure USING btree (tenant_id, erasure_id);

CREATE UNIQUE INDEX facet_seq ON context.facet USING btree (tenant_id, seq);

CREATE INDEX import_age ON context.import USING btree (tenant_id, updated_at);

CREATE UNIQUE INDEX import_open ON context.import USING btree (tenant_id, open_context_id) WHERE (open_context_id IS NOT NULL);

CREATE UNIQUE INDEX knowledge_base_id ON context.knowledge_base USING btree (tenant_id, base_id);

CREATE UNIQUE INDEX knowledge_document_list ON context.knowledge_document USING btree (tenant_id, base_id, seq);

CREATE INDEX knowledge_document_record ON context.knowledge_document USING btree (tenant_id, record_id) WHERE (record_id IS NOT NULL);

CREATE INDEX knowledge_document_unread ON context.knowledge_document USING btree (tenant_id, base_id, state) WHERE (state <> 'INDEXED'::text);

CREATE UNIQUE INDEX mcp_tool_of_provider ON context.mcp_tool USING btree (tenant_id, provider_id);

CREATE INDEX memory_key ON context.memory USING btree (tenant_id, owner_user_id, app_id, agent_bundle_id, key, happened_at, seq) WHERE (key <> ''::text);

CREATE UNIQUE INDEX memory_newest ON context.memory USING btree (tenant_id, owner_user_id, seq DESC);

CREATE INDEX memory_statement ON context.memory USING btree (tenant_id, owner_user_id, app_id, agent_bundle_id, statement_sha256);

CREATE INDEX memory_user_scope ON context.memory_user USING btree (tenant_id, scope_id);

CREATE UNIQUE INDEX message_id ON context.message USING btree (tenant_id, context_id, message_id);

CREATE INDEX message_record_about ON context.message_record USING btree (tenant_id, context_id, entity_node_id) WHERE (entity_node_id IS NOT NULL);

CREATE INDEX message_record_due ON context.message_record USING btree (tenant_id, due_at) WHERE ((state = 'PENDING'::text) OR (record_id IS NULL));

CREATE INDEX message_record_of ON context.message_record USING btree (tenant_id, record_id) WHERE (record_id IS NOT NULL);

CREATE INDEX message_record_open ON context.message_record USING btree (tenant_id, context_id, seq) WHERE (state <> 'INDEXED'::text);

CREATE INDEX message_retracted ON context.message USING btree (tenant_id, context_id, retracted_change) WHERE (retracted_change IS NOT NULL);

CREATE INDEX message_task ON context.message USING btree (tenant_id, context_id, task_id, seq) WHERE (task_id IS NOT NULL);

CREATE INDEX outbox_due ON context.outbox USING btree (tenant_id, due_at);

CREATE UNIQUE INDEX outbox_subject ON context.outbox USING btree (tenant_id, topic, subject_id);

CREATE INDEX page_dependency_of ON context.page_dependency USING btree (tenant_id, page_id);

CREATE INDEX passage_place ON context.passage USING btree (tenant_id, scope_id, session, place) WHERE (place IS NOT NULL);

CREATE INDEX passage_terms ON context.passage USING gin (terms) WITH (gin_pending_list_limit='512');

CREATE INDEX passage_vector_failed ON context.passage_vector USING btree (tenant_id, scope_id, scope_kind) WHERE (error <> ''::text);

CREATE INDEX request_about ON context.request USING btree (tenant_id, about_id) WHERE (about_id IS NOT NULL);

CREATE INDEX request_age ON context.request USING btree (tenant_id, created_at);

CREATE INDEX source_test_newest ON context.source_test USING btree (tenant_id, created_at DESC, test_id DESC);

CREATE INDEX subject_erasure_finished ON context.subject_erasure USING btree (tenant_id, finished_at);

CREATE UNIQUE INDEX subject_erasure_open ON context.subject_erasure USING btree (tenant_id, subject) WHERE (finished_at IS NULL);

CREATE INDEX task_change ON context.task USING btree (tenant_id, context_id, change);

CREATE INDEX task_newest ON context.task USING btree (tenant_id, context_id, task_id);

CREATE INDEX upload_due ON context.upload USING btree (tenant_id, due_at);

CREATE UNIQUE INDEX upload_part_blob ON context.upload_part USING btree (tenant_id, blob_id);

CREATE INDEX wiki_citation_of ON context.wiki_citation USING btree (tenant_id, page_id);

CREATE INDEX wiki_page_list ON context.wiki_page USING btree (tenant_id, owner_user_id, slug COLLATE "C", page_id);

CREATE INDEX wiki_page_name_of ON context.wiki_page_name USING btree (tenant_id, page_id);

CREATE INDEX wiki_page_scope ON context.wiki_page USING btree (tenant_id, scope_id);

CREATE INDEX window_block_context ON context.window_block USING btree (tenant_id, context_id);

CREATE INDEX window_block_seen ON context.window_block USING btree (tenant_id, window_id, number) WHERE (epoch_to IS NULL);

CREATE INDEX window_checkpoint_context ON context.window_checkpoint USING btree (tenant_id, context_id);

CREATE INDEX window_entry_context ON context.window_entry USING btree (tenant_id, context_id);

CREATE INDEX window_entry_holds ON context.window_entry USING btree (tenant_id, window_id, section, key) WHERE (ended_at IS NULL);

CREATE INDEX window_fold_context ON context.window_fold USING btree (tenant_id, context_id);

CREATE INDEX window_fork_awaited ON context.window_fork USING btree (tenant_id, context_id) WHERE (ended_at IS NULL);

CREATE UNIQUE INDEX window_fork_of ON context.window_fork USING btree (tenant_id, fork_context_id);

CREATE INDEX window_newest ON context.context_window USING btree (tenant_id, context_id, window_id);

CREATE UNIQUE INDEX window_profile_content ON context.window_profile_version USING btree (tenant_id, name, sha256);

CREATE INDEX window_summary_context ON context.window_summary USING btree (tenant_id, context_id);

CREATE INDEX window_summary_seen ON context.window_summary USING btree (tenant_id, window_id) WHERE (epoch_to IS NULL);

CREATE INDEX window_usage_context ON context.window_usage USING btree (tenant_id, context_id);

CREATE INDEX wm_record_archived ON context.wm_record USING btree (tenant_id, memory_type, LEAST(archived_at, expires_at)) WHERE (LEAST(archived_at, expires_at) IS NOT NULL);

CREATE INDEX wm_record_blob ON context.wm_record USING btree (tenant_id, blob_id) WHERE (blob_id IS NOT NULL);

CREATE UNIQUE INDEX wm_record_blob_key ON context.wm_record USING btree (tenant_id, blob_key) WHERE (blob_key IS NOT NULL);

CREATE INDEX wm_record_context ON context.wm_record USING btree (tenant_id, context_id) WHERE (context_id IS NOT NULL);

CREATE INDEX wm_record_entity ON context.wm_record USING btree (tenant_id, entity_node_id, created_at DESC, seq DESC);

CREATE INDEX wm_record_metadata ON context.wm_record USING gin (metadata jsonb_path_ops);

CREATE INDEX wm_record_name_search ON context.wm_record USING gin (name_search) WITH (gin_pending_list_limit='512');

CREATE INDEX wm_record_search ON context.wm_record USING gin (search) WITH (gin_pending_list_limit='512');

CREATE TRIGGER count_change AFTER UPDATE ON context.wm_record FOR EACH ROW WHEN (((old.size_bytes <> new.size_bytes) AND (COALESCE(current_setting('app.moving'::text, true), ''::text) = ''::text))) EXECUTE FUNCTION context.count_usage('1');

CREATE TRIGGER count_part AFTER INSERT OR DELETE ON context.upload_part FOR EACH ROW WHEN ((COALESCE(current_setting('app.moving'::text, true), ''::text) = ''::text)) EXECUTE FUNCTION context.count_usage('0');

CREATE TRIGGER count_record AFTER INSERT OR DELETE ON context.wm_record FOR EACH ROW WHEN ((COALESCE(current_setting('app.moving'::text, true), ''::text) = ''::text)) EXECUTE FUNCTION context.count_usage('1');

CREATE TRIGGER keep_search_of_changed BEFORE UPDATE ON context.wm_record FOR EACH ROW WHEN ((((old.name IS DISTINCT FROM new.name) OR (old.description IS DISTINCT FROM new.description) OR ((old.content)::text IS DISTINCT FROM (new.content)::text) OR (old.content_text IS DISTINCT FROM new.content_text) OR (old.blob_text IS DISTINCT FROM new.blob_text) OR (old.search_language IS DISTINCT FROM new.search_language)) AND (COALESCE(current_setting('app.moving'::text, true), ''::text) = ''::text))) EXECUTE FUNCTION context.keep_search();

CREATE TRIGGER keep_search_of_new BEFORE INSERT ON context.wm_record FOR EACH ROW WHEN ((COALESCE(current_setting('app.moving'::text, true), ''::text) = ''::text)) EXECUTE FUNCTION context.keep_search();

CREATE TRIGGER move_embedding AFTER UPDATE ON context.wm_record FOR EACH ROW WHEN ((((((((old.entity_node_id IS DISTINCT FROM new.entity_node_id) OR (LEAST(old.archived_at, old.expires_at) IS DISTINCT FROM LEAST(new.archived_at, new.expires_at))) OR (old.memory_type IS DISTINCT FROM new.memory_type)) OR (old.graph_name IS DISTINCT FROM new.graph_name)) OR (old.agent_bundle_id IS DISTINCT FROM new.agent_bundle_id)) OR (old.app_id IS DISTINCT FROM new.app_id)) AND (COALESCE(current_setting('app.moving'::text, true), ''::text) = ''::text))) EXECUTE FUNCTION context.move_embedding();

CREATE TRIGGER numbered BEFORE INSERT ON context.action FOR EACH ROW WHEN ((new.seq IS NULL)) EXECUTE FUNCTION access.number_row();

CREATE TRIGGER numbered BEFORE INSERT ON context.facet FOR EACH ROW WHEN ((new.seq IS NULL)) EXECUTE FUNCTION access.number_row();

CREATE TRIGGER numbered BEFORE INSERT ON context.knowledge_document FOR EACH ROW WHEN ((new.seq IS NULL)) EXECUTE FUNCTION access.number_row();

CREATE TRIGGER numbered BEFORE INSERT ON context.memory FOR EACH ROW WHEN ((new.seq IS NULL)) EXECUTE FUNCTION access.number_row();

CREATE TRIGGER numbered BEFORE INSERT ON context.wiki_page_version FOR EACH ROW WHEN ((new.seq IS NULL)) EXECUTE FUNCTION access.number_row();

CREATE TRIGGER numbered BEFORE INSERT ON context.wm_record FOR EACH ROW WHEN ((new.seq IS NULL)) EXECUTE FUNCTION access.number_row();

ALTER TABLE ONLY context.mcp_tool
    ADD CONSTRAINT mcp_tool_tenant_id_server_id_fkey FOREIGN KEY (tenant_id, server_id) REFERENCES context.mcp_server(tenant_id, server_id) ON DELETE CASCADE;

ALTER TABLE ONLY context.upload_part
    ADD CONSTRAINT upload_part_tenant_id_blob_id_fkey FOREIGN KEY (tenant_id, blob_id) REFERENCES context.blob(tenant_id, id);

ALTER TABLE ONLY context.upload_part
    ADD CONSTRAINT upload_part_tenant_id_upload_id_fkey FOREIGN KEY (tenant_id, upload_id) REFERENCES context.upload(tenant_id, id);

ALTER TABLE ONLY context.wm_record
    ADD CONSTRAINT wm_record_tenant_id_blob_id_fkey FOREIGN KEY (tenant_id, blob_id) REFERENCES context.blob(tenant_id, id);

ALTER TABLE context.action ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.agent ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.artifact ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.blob ENABLE ROW LEVEL SECURITY;

CREATE POLICY bounds ON context.action AS RESTRICTIVE FOR SELECT USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.sees_record(record_id) OR ((kind = 'purged'::text) AND (bounds = current_setting('app.bounds'::text, true)))), false) IS NOT NULL));

CREATE POLICY bounds ON context.agent AS RESTRICTIVE FOR SELECT USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR ( SELECT context.knows_bounds((NULLIF(current_setting('app.bounds'::text, true), ''::text))::jsonb) AS knows_bounds)), false) IS NOT NULL));

CREATE POLICY bounds ON context.artifact AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR access.context_in_bounds(ancestors, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.blob AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR ( SELECT context.knows_bounds((NULLIF(current_setting('app.bounds'::text, true), ''::text))::jsonb) AS knows_bounds)), false) IS NOT NULL));

CREATE POLICY bounds ON context.compile_state AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR (bounds = ( SELECT current_setting('app.bounds'::text, true) AS current_setting))), false) IS NOT NULL));

CREATE POLICY bounds ON context.compiled_page AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.in_bounds(graph_name, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.context AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR access.context_in_bounds(ancestors, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.context_external_id AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR access.context_in_bounds(ancestors, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.context_window AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR access.context_in_bounds(ancestors, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.definition AS RESTRICTIVE FOR SELECT USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR ((app_id = ''::text) AND ( SELECT context.knows_bounds((NULLIF(current_setting('app.bounds'::text, true), ''::text))::jsonb) AS knows_bounds)) OR context.app_in_bounds(app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.embedding AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.in_bounds(graph_name, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.erased_blob AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds ON context.erasure AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR access.context_in_bounds(ancestors, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.facet AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.in_bounds(graph_name, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.hold AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds ON context.import AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds ON context.job AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds ON context.knowledge_base AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.in_bounds(graph_name, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.knowledge_document AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.in_bounds(graph_name, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.knowledge_file AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.in_bounds(graph_name, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.mapping AS RESTRICTIVE FOR SELECT USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR ((app_id = ''::text) AND ( SELECT context.knows_bounds((NULLIF(current_setting('app.bounds'::text, true), ''::text))::jsonb) AS knows_bounds)) OR context.app_in_bounds(app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.mcp_server AS RESTRICTIVE FOR SELECT USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR ( SELECT context.knows_bounds((NULLIF(current_setting('app.bounds'::text, true), ''::text))::jsonb) AS knows_bounds)), false) IS NOT NULL));

CREATE POLICY bounds ON context.mcp_tool AS RESTRICTIVE FOR SELECT USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR ( SELECT context.knows_bounds((NULLIF(current_setting('app.bounds'::text, true), ''::text))::jsonb) AS knows_bounds)), false) IS NOT NULL));

CREATE POLICY bounds ON context.memory AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.in_bounds(''::text, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.memory_user AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.in_bounds(''::text, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.message AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR access.context_in_bounds(ancestors, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.message_record AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR access.context_in_bounds(ancestors, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.outbox AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR ( SELECT context.knows_bounds((NULLIF(current_setting('app.bounds'::text, true), ''::text))::jsonb) AS knows_bounds)), false) IS NOT NULL));

CREATE POLICY bounds ON context.page_dependency AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.in_bounds(graph_name, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.passage AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.passage_in_bounds(context_id, ancestors, graph_name, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.passage_scope AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.passage_in_bounds(context_id, ancestors, graph_name, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.passage_session AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.passage_in_bounds(context_id, ancestors, graph_name, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.passage_vector AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.passage_in_bounds(context_id, ancestors, graph_name, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.provider_setting AS RESTRICTIVE FOR SELECT USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR ( SELECT context.knows_bounds((NULLIF(current_setting('app.bounds'::text, true), ''::text))::jsonb) AS knows_bounds)), false) IS NOT NULL));

CREATE POLICY bounds ON context.request AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR (bounds = ( SELECT current_setting('app.bounds'::text, true) AS current_setting))), false) IS NOT NULL));

CREATE POLICY bounds ON context.source_test AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds ON context.specialist AS RESTRICTIVE FOR SELECT USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR ( SELECT context.knows_bounds((NULLIF(current_setting('app.bounds'::text, true), ''::text))::jsonb) AS knows_bounds)), false) IS NOT NULL));

CREATE POLICY bounds ON context.subject_erasure AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds ON context.task AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR access.context_in_bounds(ancestors, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.tenant_limit AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR ( SELECT context.knows_bounds((NULLIF(current_setting('app.bounds'::text, true), ''::text))::jsonb) AS knows_bounds)), false) IS NOT NULL));

CREATE POLICY bounds ON context.tenant_usage AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR ( SELECT context.knows_bounds((NULLIF(current_setting('app.bounds'::text, true), ''::text))::jsonb) AS knows_bounds)), false) IS NOT NULL));

CREATE POLICY bounds ON context.token_calibration AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR ( SELECT context.knows_bounds((NULLIF(current_setting('app.bounds'::text, true), ''::text))::jsonb) AS knows_bounds)), false) IS NOT NULL));

CREATE POLICY bounds ON context.upload AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.in_bounds(COALESCE(NULLIF((record ->> 'graph_name'::text), ''::text), 'default'::text), (record ->> 'agent_bundle_id'::text), (record ->> 'app_id'::text))), false) IS NOT NULL));

CREATE POLICY bounds ON context.upload_part AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.sees_upload(upload_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.wiki_citation AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.in_bounds(''::text, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.wiki_page AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.in_bounds(''::text, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.wiki_page_name AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.in_bounds(''::text, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.wiki_page_version AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.in_bounds(''::text, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.window_block AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR access.context_in_bounds(ancestors, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.window_checkpoint AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR access.context_in_bounds(ancestors, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.window_entry AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR access.context_in_bounds(ancestors, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.window_fold AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR access.context_in_bounds(ancestors, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.window_fork AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR access.context_in_bounds(ancestors, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.window_learning AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds ON context.window_profile AS RESTRICTIVE FOR SELECT USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR ( SELECT context.knows_bounds((NULLIF(current_setting('app.bounds'::text, true), ''::text))::jsonb) AS knows_bounds)), false) IS NOT NULL));

CREATE POLICY bounds ON context.window_profile_version AS RESTRICTIVE FOR SELECT USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR ((app_id = ''::text) AND ( SELECT context.knows_bounds((NULLIF(current_setting('app.bounds'::text, true), ''::text))::jsonb) AS knows_bounds)) OR context.app_in_bounds(app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.window_summary AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR access.context_in_bounds(ancestors, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.window_usage AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR access.context_in_bounds(ancestors, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds ON context.wm_record AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.in_bounds(graph_name, agent_bundle_id, app_id)), false) IS NOT NULL));

CREATE POLICY bounds_of_delete ON context.agent AS RESTRICTIVE FOR DELETE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_delete ON context.definition AS RESTRICTIVE FOR DELETE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_delete ON context.mapping AS RESTRICTIVE FOR DELETE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.app_in_bounds(app_id)), false) IS NOT NULL));

CREATE POLICY bounds_of_delete ON context.mcp_server AS RESTRICTIVE FOR DELETE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_delete ON context.mcp_tool AS RESTRICTIVE FOR DELETE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_delete ON context.provider_setting AS RESTRICTIVE FOR DELETE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_delete ON context.specialist AS RESTRICTIVE FOR DELETE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_delete ON context.window_profile AS RESTRICTIVE FOR DELETE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_delete ON context.window_profile_version AS RESTRICTIVE FOR DELETE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_insert ON context.agent AS RESTRICTIVE FOR INSERT WITH CHECK ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_insert ON context.definition AS RESTRICTIVE FOR INSERT WITH CHECK ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_insert ON context.mapping AS RESTRICTIVE FOR INSERT WITH CHECK ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.app_in_bounds(app_id)), false) IS NOT NULL));

CREATE POLICY bounds_of_insert ON context.mcp_server AS RESTRICTIVE FOR INSERT WITH CHECK ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_insert ON context.mcp_tool AS RESTRICTIVE FOR INSERT WITH CHECK ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_insert ON context.provider_setting AS RESTRICTIVE FOR INSERT WITH CHECK ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_insert ON context.specialist AS RESTRICTIVE FOR INSERT WITH CHECK ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_insert ON context.window_profile AS RESTRICTIVE FOR INSERT WITH CHECK ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_insert ON context.window_profile_version AS RESTRICTIVE FOR INSERT WITH CHECK ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_update ON context.agent AS RESTRICTIVE FOR UPDATE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_update ON context.definition AS RESTRICTIVE FOR UPDATE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_update ON context.mapping AS RESTRICTIVE FOR UPDATE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR context.app_in_bounds(app_id)), false) IS NOT NULL));

CREATE POLICY bounds_of_update ON context.mcp_server AS RESTRICTIVE FOR UPDATE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_update ON context.mcp_tool AS RESTRICTIVE FOR UPDATE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_update ON context.provider_setting AS RESTRICTIVE FOR UPDATE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_update ON context.specialist AS RESTRICTIVE FOR UPDATE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_update ON context.window_profile AS RESTRICTIVE FOR UPDATE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

CREATE POLICY bounds_of_update ON context.window_profile_version AS RESTRICTIVE FOR UPDATE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR false), false) IS NOT NULL));

ALTER TABLE context.compile_state ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.compiled_page ENABLE ROW LEVEL SECURITY;

CREATE POLICY context ON context.artifact AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_contexts() AS sees_all_contexts) OR (context_id = ( SELECT access.context_seen() AS context_seen))), false) IS NOT NULL));

ALTER TABLE context.context ENABLE ROW LEVEL SECURITY;

CREATE POLICY context ON context.context AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_contexts() AS sees_all_contexts) OR (context_id = ( SELECT access.context_seen() AS context_seen))), false) IS NOT NULL));

CREATE POLICY context ON context.context_external_id AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_contexts() AS sees_all_contexts) OR (context_id = ( SELECT access.context_seen() AS context_seen))), false) IS NOT NULL));

CREATE POLICY context ON context.context_window AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_contexts() AS sees_all_contexts) OR (context_id = ( SELECT access.context_seen() AS context_seen))), false) IS NOT NULL));

CREATE POLICY context ON context.erasure AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_contexts() AS sees_all_contexts) OR (context_id = ( SELECT access.context_seen() AS context_seen))), false) IS NOT NULL));

CREATE POLICY context ON context.message AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_contexts() AS sees_all_contexts) OR (context_id = ( SELECT access.context_seen() AS context_seen))), false) IS NOT NULL));

CREATE POLICY context ON context.message_record AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_contexts() AS sees_all_contexts) OR (context_id = ( SELECT access.context_seen() AS context_seen))), false) IS NOT NULL));

CREATE POLICY context ON context.passage AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_contexts() AS sees_all_contexts) OR (context_id IS NULL) OR (context_id = ( SELECT access.context_seen() AS context_seen))), false) IS NOT NULL));

CREATE POLICY context ON context.passage_scope AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_contexts() AS sees_all_contexts) OR (context_id IS NULL) OR (context_id = ( SELECT access.context_seen() AS context_seen))), false) IS NOT NULL));

CREATE POLICY context ON context.passage_session AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_contexts() AS sees_all_contexts) OR (context_id IS NULL) OR (context_id = ( SELECT access.context_seen() AS context_seen))), false) IS NOT NULL));

CREATE POLICY context ON context.passage_vector AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_contexts() AS sees_all_contexts) OR (context_id IS NULL) OR (context_id = ( SELECT access.context_seen() AS context_seen))), false) IS NOT NULL));

CREATE POLICY context ON context.task AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_contexts() AS sees_all_contexts) OR (context_id = ( SELECT access.context_seen() AS context_seen))), false) IS NOT NULL));

CREATE POLICY context ON context.window_block AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_contexts() AS sees_all_contexts) OR (context_id = ( SELECT access.context_seen() AS context_seen))), false) IS NOT NULL));

CREATE POLICY context ON context.window_checkpoint AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_contexts() AS sees_all_contexts) OR (context_id = ( SELECT access.context_seen() AS context_seen))), false) IS NOT NULL));

CREATE POLICY context ON context.window_entry AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_contexts() AS sees_all_contexts) OR (context_id = ( SELECT access.context_seen() AS context_seen))), false) IS NOT NULL));

CREATE POLICY context ON context.window_fold AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_contexts() AS sees_all_contexts) OR (context_id = ( SELECT access.context_seen() AS context_seen))), false) IS NOT NULL));

CREATE POLICY context ON context.window_fork AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_contexts() AS sees_all_contexts) OR (context_id = ( SELECT access.context_seen() AS context_seen))), false) IS NOT NULL));

CREATE POLICY context ON context.window_summary AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_contexts() AS sees_all_contexts) OR (context_id = ( SELECT access.context_seen() AS context_seen))), false) IS NOT NULL));

CREATE POLICY context ON context.window_usage AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_contexts() AS sees_all_contexts) OR (context_id = ( SELECT access.context_seen() AS context_seen))), false) IS NOT NULL));

ALTER TABLE context.context_external_id ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.context_window ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.definition ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.embedding ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.erased_blob ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.erasure ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.facet ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.hold ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.import ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.job ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.knowledge_base ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.knowledge_document ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.knowledge_file ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.mapping ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.mcp_server ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.mcp_tool ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.memory ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.memory_user ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.message ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.message_record ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.outbox ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.page_dependency ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.passage ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.passage_scope ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.passage_session ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.passage_vector ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.provider_setting ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.request ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.source_test ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.specialist ENABLE ROW LEVEL SECURITY;

CREATE POLICY subject ON context.artifact AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.context AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.context_external_id AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.context_window AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.erasure AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.memory AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.memory_user AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.message AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.message_record AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.passage AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.passage_scope AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.passage_session AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.passage_vector AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.source_test AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.task AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.wiki_citation AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.wiki_page AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.wiki_page_name AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.wiki_page_version AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.window_block AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.window_checkpoint AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.window_entry AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.window_fold AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.window_fork AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.window_summary AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

CREATE POLICY subject ON context.window_usage AS RESTRICTIVE USING ((NULLIF((( SELECT access.sees_all_subjects() AS sees_all_subjects) OR (owner_user_id = ANY (( SELECT access.owners_seen() AS owners_seen)::text[]))), false) IS NOT NULL));

ALTER TABLE context.subject_erasure ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.task ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON context.action USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.agent USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.artifact USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.blob USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.compile_state USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.compiled_page USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.context USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.context_external_id USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.context_window USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.definition USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.embedding USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.erased_blob USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.erasure USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.facet USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.hold USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.import USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.job USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.knowledge_base USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.knowledge_document USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.knowledge_file USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.mapping USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.mcp_server USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.mcp_tool USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.memory USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.memory_user USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.message USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.message_record USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.outbox USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.page_dependency USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.passage USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.passage_scope USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.passage_session USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.passage_vector USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.provider_setting USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.request USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.source_test USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.specialist USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.subject_erasure USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.task USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.tenant_limit USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.tenant_usage USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.token_calibration USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.upload USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.upload_part USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.wiki_citation USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.wiki_page USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.wiki_page_name USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.wiki_page_version USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.window_block USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.window_checkpoint USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.window_entry USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.window_fold USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.window_fork USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.window_learning USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.window_profile USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.window_profile_version USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.window_summary USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.window_usage USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON context.wm_record USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

ALTER TABLE context.tenant_limit ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.tenant_usage ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.token_calibration ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.upload ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.upload_part ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.wiki_citation ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.wiki_page ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.wiki_page_name ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.wiki_page_version ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.window_block ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.window_checkpoint ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.window_entry ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.window_fold ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.window_fork ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.window_learning ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.window_profile ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.window_profile_version ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.window_summary ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.window_usage ENABLE ROW LEVEL SECURITY;

ALTER TABLE context.wm_record ENABLE ROW LEVEL SECURITY;

GRANT USAGE ON SCHEMA context TO contextkeep_service;

GRANT SELECT,INSERT ON TABLE context.action TO contextkeep_service;

REVOKE ALL ON FUNCTION context.forget_actions(record_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION context.forget_actions(record_ids uuid[]) TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.context TO contextkeep_service;

GRANT SELECT,INSERT,DELETE ON TABLE context.hold TO contextkeep_service;

GRANT UPDATE(created_by) ON TABLE context.hold TO contextkeep_service;

REVOKE ALL ON FUNCTION context.holds_of(of_context_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION context.holds_of(of_context_id uuid) TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.message_record TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.wm_record TO contextkeep_service;

REVOKE ALL ON FUNCTION context.let_go_of_records(record_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION context.let_go_of_records(record_ids uuid[]) TO contextkeep_service;

REVOKE ALL ON FUNCTION context.named_in(imported jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION context.named_in(imported jsonb) TO contextkeep_service;

REVOKE ALL ON FUNCTION context.number_behind(of_table text, seq bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION context.number_behind(of_table text, seq bigint) TO contextkeep_service;

REVOKE ALL ON FUNCTION context.owed_work(asking_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION context.owed_work(asking_id uuid) TO contextkeep_service;

REVOKE ALL ON FUNCTION context.put_tenant_limits(of_name text, changed text[], new_records_max bigint, new_bytes_max bigint, new_blob_bytes_max bigint, new_content_bytes_max bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION context.renamed(imported jsonb, who text, pseudonym text) FROM PUBLIC;
GRANT ALL ON FUNCTION context.renamed(imported jsonb, who text, pseudonym text) TO contextkeep_service;

REVOKE ALL ON FUNCTION context.rename_in_actions(first tid, behind tid, who text, pseudonym text) FROM PUBLIC;
GRANT ALL ON FUNCTION context.rename_in_actions(first tid, behind tid, who text, pseudonym text) TO contextkeep_service;

REVOKE ALL ON FUNCTION context.retry_work(asking_id uuid, of_kind text) FROM PUBLIC;
GRANT ALL ON FUNCTION context.retry_work(asking_id uuid, of_kind text) TO contextkeep_service;

REVOKE ALL ON FUNCTION context.set_tenant_limits(asking_id uuid, of_name text, changed text[], new_records_max bigint, new_bytes_max bigint, new_blob_bytes_max bigint, new_content_bytes_max bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION context.set_tenant_limits(asking_id uuid, of_name text, changed text[], new_records_max bigint, new_bytes_max bigint, new_blob_bytes_max bigint, new_content_bytes_max bigint) TO contextkeep_service;

REVOKE ALL ON FUNCTION context.spend_of_run(of_context_id uuid, of_window_id uuid, tokens bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION context.spend_of_run(of_context_id uuid, of_window_id uuid, tokens bigint) TO contextkeep_service;

REVOKE ALL ON FUNCTION context.stored_by(asking_id uuid, of_tenants uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION context.stored_by(asking_id uuid, of_tenants uuid[]) TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.agent TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.artifact TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.blob TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.compile_state TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.compiled_page TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.context_external_id TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.context_window TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.definition TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.embedding TO contextkeep_service;

GRANT SELECT ON TABLE context.embedding_of_tenant TO contextkeep_service;

GRANT SELECT,INSERT,DELETE ON TABLE context.erased_blob TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.erasure TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.facet TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.import TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.job TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.knowledge_base TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.knowledge_document TO contextkeep_service;

GRANT SELECT,INSERT,DELETE ON TABLE context.knowledge_file TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.mapping TO contextkeep_service;

GRANT SELECT,UPDATE ON TABLE context.mapping_revision TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.mcp_server TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.mcp_tool TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.memory TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.memory_user TO contextkeep_service;

GRANT SELECT,INSERT,DELETE ON TABLE context.message TO contextkeep_service;

GRANT UPDATE(retracted_at) ON TABLE context.message TO contextkeep_service;

GRANT UPDATE(retracted_change) ON TABLE context.message TO contextkeep_service;

GRANT SELECT ON TABLE context.migration TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.outbox TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.page_dependency TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.passage TO contextkeep_service;

GRANT SELECT ON TABLE context.passage_of_tenant TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.passage_scope TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.passage_session TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.passage_vector TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.provider_setting TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.request TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.source_test TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.specialist TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.subject_erasure TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.task TO contextkeep_service;

GRANT SELECT ON TABLE context.tenant_limit TO contextkeep_service;

GRANT SELECT,INSERT,UPDATE ON TABLE context.tenant_usage TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.token_calibration TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.upload TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.upload_part TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.wiki_citation TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.wiki_page TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.wiki_page_name TO contextkeep_service;

GRANT SELECT,INSERT,DELETE ON TABLE context.wiki_page_version TO contextkeep_service;

GRANT UPDATE(created_by) ON TABLE context.wiki_page_version TO contextkeep_service;

GRANT UPDATE(imported) ON TABLE context.wiki_page_version TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.window_block TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.window_checkpoint TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.window_entry TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.window_fold TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.window_fork TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.window_learning TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.window_profile TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.window_profile_version TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.window_summary TO contextkeep_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE context.window_usage TO contextkeep_service;

GRANT SELECT ON TABLE context.wm_record_of_tenant TO contextkeep_service;
