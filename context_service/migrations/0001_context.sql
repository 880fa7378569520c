-- Working memory, contexts and everything that is made of them. The tenant leads every key.
--
-- Policies, and the functions of `access` that make them, are explained in migrations/0001_access.sql of service_runtime.

-- A database that has all the migrations of the series below has everything that follows, and is only marked.
-- replaces the migrations of commit cb91463a: access 19, context 73, entity 17
-- sha256 of the first: 494bc0d0c9ffdddafe8e0cdafa312b9bcbd63a342e7c6d5069b8422c3534b389
-- sha256 of all: b6b38c35e57491ca63bf11967c96d4f69beff634ac444fecd0ed3d6cf0940f9d

GRANT USAGE ON SCHEMA context TO :"service_role";


-- What a key's bounds let through
-- -------------------------------

-- Whether this version knows every name in the bounds. Bounds fail closed: an unknown name, such as the context of a
-- context key, or one that cannot be read hides every row.
CREATE FUNCTION context.knows_bounds(bounds jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN bounds - '{graph_names,agent_bundle_id,app_ids}'::text[] = '{}';

-- Whether a row with a graph, an agent bundle and an app is within the bounds of the key. Policies call it only for
-- keys that have bounds.
CREATE FUNCTION context.in_bounds(graph_name text, agent_bundle_id text, app_id text) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    bounds jsonb := current_setting('app.bounds')::jsonb;
BEGIN
    RETURN context.knows_bounds(bounds)
        AND coalesce((bounds -> 'graph_names') ? graph_name, NOT bounds ? 'graph_names')
        AND coalesce(bounds ->> 'agent_bundle_id' = agent_bundle_id, NOT bounds ? 'agent_bundle_id')
        AND coalesce((bounds -> 'app_ids') ? app_id, NOT bounds ? 'app_ids');
END
$$;

-- Whether a row of an app is within the bounds of the key.
CREATE FUNCTION context.app_in_bounds(app_id text) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    bounds jsonb := current_setting('app.bounds')::jsonb;
BEGIN
    RETURN context.knows_bounds(bounds) AND coalesce((bounds -> 'app_ids') ? app_id, NOT bounds ? 'app_ids');
END
$$;


-- Words that are searched
-- -----------------------

-- Chinese, Japanese and Korean letters, as the inside of a regular expression's brackets. These scripts put no spaces
-- between words, so pairs of letters are searched instead.
CREATE FUNCTION context.paired_letters() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '\u1100-\u11FF\u3005-\u3007\u3040-\u30FF\u3100-\u318F\u31A0-\u31BF\u31F0-\u31FF\u3400-\u4DBF\u4E00-\u9FFF'
    '\uA960-\uA97F\uAC00-\uD7FF\uF900-\uFAFF\uFF66-\uFFDC\U00020000-\U0003FFFF';

-- Prepare a text for the parser of words: lower case, and spaces in place of these letters and of signs that the parser
-- takes for letters in a database with the locale C.
CREATE FUNCTION context.spaced(said text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN octet_length(said) = char_length(said) THEN said
    ELSE lower(regexp_replace(
        said,
        '[\u0080-\u00A9\u00AB-\u00B4\u00B6-\u00B9\u00BB-\u00BF\u00D7\u00F7\u2000-\u206F\u3000-\u303F\uFF00-\uFF0F'
            '\uFF1A-\uFF20\uFF3B-\uFF40\uFF5B-\uFF65' || context.paired_letters() || ']+',
        ' ', 'g'))
END;

-- Add words to a vector, if they fit: a tsvector has at most 1 MiB, and must not be why a record is refused.
CREATE FUNCTION context.with_words(words tsvector, more tsvector) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN pg_column_size(words) + pg_column_size(more) < 1000000 THEN words || more ELSE words END;

-- Return every two letters in a row, and the last letter of each run, so that a search for a single letter finds it as
-- a prefix.
CREATE FUNCTION context.pairs_of(said text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    letter_rows text := regexp_replace(said, '[^' || context.paired_letters() || ']+', ' ', 'g');
    first_left_out text := regexp_replace(letter_rows, '(^| )[^ ]', ' ', 'g');
    pairs text := regexp_replace(letter_rows || ' ' || first_left_out, '([^ ][^ ])', '\1 ', 'g');
BEGIN
    RETURN array_to_tsvector(array_remove(string_to_array(pairs, ' '), ''));
END
$$;

-- Return the words of a text: stemmed with positions, then as they are, then pairs of letters.
CREATE FUNCTION context.words_of(language text, said text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
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

-- Return a query that finds the words or the phrase, stemmed or as they are. It is empty for stop words such as "the".
-- No input raises an error.
CREATE FUNCTION context.words_asked(language text, asked text) RETURNS tsquery
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
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

-- Combine terms into one query: each may be negated, or begin an alternative.
CREATE FUNCTION context.search_asked(language text, terms text[], are_not boolean[], behind_or boolean[]) RETURNS tsquery
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
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

-- Return the first characters of the texts and numbers of a document. The time is linear in the size:
-- `jsonb_path_query` row by row took 18 s for 1 MiB of short texts, the array takes 0.3 s.
CREATE FUNCTION context.beginning_of_texts(content json, chars_max integer) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT left(string_agg(found.value, ' '), chars_max)
    FROM jsonb_array_elements_text(
        jsonb_path_query_array(content::jsonb, 'strict $.** ? (@.type() == "string" || @.type() == "number")')
    ) found (value)
);

-- Return the vector that a record is found by. The tenant is one of its words, one that no text can contain: an
-- inverted index takes no uuid next to the words, and would read the entries of all tenants. Of long contents only the
-- beginning is searched.
CREATE FUNCTION context.search_of(
    tenant_id uuid, language text, name text, description text, content json, content_text text
) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
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

-- Return the words of a name as they are, for searches by prefix.
CREATE FUNCTION context.name_search_of(tenant_id uuid, name text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN array_to_tsvector(ARRAY['tenant ' || tenant_id::text])
    || to_tsvector('pg_catalog.simple', regexp_replace(left(name, 5000), '[[:punct:]]+', ' ', 'g'));


-- Working memory
-- --------------

-- Bytes in object storage. A row is there before the first byte and until the last byte is gone, so every object in a
-- bucket is known. `writing`: an upload with a lease; `part`: a part of a resumable upload, which has the lease;
-- `live`: records may point to it; `deleting`.
CREATE TABLE context.blob (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- `writing`: the upload is abandoned after this time. `deleting`: the bytes are deleted after it.
    due_at timestamptz,
    size_bytes bigint NOT NULL DEFAULT 0,
    state text NOT NULL DEFAULT 'writing' CHECK (state IN ('writing', 'part', 'live', 'deleting')),
    provider text NOT NULL,
    -- The name of the object: made by the server, random, never reused, never shown.
    key text NOT NULL,
    sha256 bytea,
    -- The crc32c of each MiB, four bytes each, big-endian.
    crc32c bytea,
    -- Set by `storage fsck`: records still point to the blob, but new uploads of the same content do not.
    damaged_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    -- `part` and `live` blobs stay until something else ends them.
    CONSTRAINT blob_due_check CHECK ((state IN ('part', 'live')) = (due_at IS NULL)),
    CONSTRAINT blob_bytes_check CHECK (state NOT IN ('part', 'live') OR (sha256 IS NOT NULL AND crc32c IS NOT NULL))
);
CREATE UNIQUE INDEX blob_key ON context.blob (tenant_id, provider, key);
CREATE INDEX blob_due ON context.blob (tenant_id, due_at) WHERE state <> 'live';
-- Identical content of a tenant is stored once for each provider.
CREATE UNIQUE INDEX blob_content ON context.blob (tenant_id, provider, sha256, size_bytes)
    WHERE state = 'live' AND damaged_at IS NULL;
SELECT access.policy('context.blob', 'tenant', 'bounds:known');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.blob TO :"service_role";

-- The records of working memory: files, JSON and texts.
CREATE TABLE context.wm_record (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    entity_node_id uuid,
    blob_id uuid,
    context_id uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    archived_at timestamptz,
    seq bigint NOT NULL,
    size_bytes bigint NOT NULL DEFAULT 0,
    version integer NOT NULL DEFAULT 1,
    -- Names the blob to callers; unique to the record, even if several records share the bytes.
    blob_key text,
    provider text NOT NULL DEFAULT '',
    sha256 bytea,
    memory_type text NOT NULL,
    subtype text NOT NULL DEFAULT '',
    semantic_purpose text NOT NULL DEFAULT '',
    name text NOT NULL,
    description text NOT NULL DEFAULT '',
    reasoning text NOT NULL DEFAULT '',
    content_type text NOT NULL DEFAULT '',
    graph_name text NOT NULL DEFAULT 'default',
    agent_bundle_id text NOT NULL DEFAULT '',
    app_id text NOT NULL DEFAULT '',
    created_by text NOT NULL,
    owner_user_id text NOT NULL DEFAULT '',
    agent_id text NOT NULL DEFAULT '',
    index_state text NOT NULL DEFAULT 'NONE' CHECK (index_state IN ('NONE', 'PENDING', 'INDEXED', 'FAILED')),
    index_error text NOT NULL DEFAULT '',
    tags text[] NOT NULL DEFAULT '{}',
    metadata jsonb NOT NULL DEFAULT '{}',
    -- json, not jsonb: callers get it back byte for byte.
    content json,
    -- Written by a trigger.
    search tsvector,
    name_search tsvector GENERATED ALWAYS AS (context.name_search_of(tenant_id, name)) STORED,
    -- An inline text, instead of `content`.
    content_text text,
    -- The beginning of a blob that is text, for search; never shown.
    blob_text text,
    -- The language of `search`.
    search_language text NOT NULL DEFAULT '',
    text_state text NOT NULL DEFAULT 'NONE' CHECK (text_state IN ('NONE', 'PENDING', 'INDEXED', 'FAILED')),
    text_error text NOT NULL DEFAULT '',
    -- Passages written so far; null: the text was not cut into passages, or is gone.
    passage_count integer,
    imported jsonb,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, blob_id) REFERENCES context.blob (tenant_id, id),
    CHECK (blob_id IS NULL OR content IS NULL),
    CONSTRAINT wm_record_check1 CHECK ((blob_id IS NULL) = (blob_key IS NULL))
);
-- NOT VALID, because it came to a table with rows: it holds for all rows written since.
ALTER TABLE context.wm_record
    ADD CONSTRAINT wm_record_content_text_check CHECK (blob_id IS NULL OR content_text IS NULL) NOT VALID;
CREATE UNIQUE INDEX wm_record_blob_key ON context.wm_record (tenant_id, blob_key) WHERE blob_key IS NOT NULL;
CREATE INDEX wm_record_entity ON context.wm_record (tenant_id, entity_node_id, created_at DESC, seq DESC);
CREATE INDEX wm_record_blob ON context.wm_record (tenant_id, blob_id) WHERE blob_id IS NOT NULL;
-- Archived and expired records by type and time, for the sweeper: each type has its own retention.
CREATE INDEX wm_record_archived ON context.wm_record (tenant_id, memory_type, least(archived_at, expires_at))
    WHERE least(archived_at, expires_at) IS NOT NULL;
-- Equality and containment at paths of the metadata.
CREATE INDEX wm_record_metadata ON context.wm_record USING gin (metadata jsonb_path_ops);
-- New entries that are not merged yet are searched one by one, so their list is kept short.
CREATE INDEX wm_record_search ON context.wm_record USING gin (search) WITH (gin_pending_list_limit = 512);
CREATE INDEX wm_record_name_search ON context.wm_record USING gin (name_search) WITH (gin_pending_list_limit = 512);
-- The records of a context go with it.
CREATE INDEX wm_record_context ON context.wm_record (tenant_id, context_id) WHERE context_id IS NOT NULL;
SELECT access.policy('context.wm_record', 'tenant', 'bounds:graph');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.wm_record TO :"service_role";

-- Records as searches read them. A caller's expression may run only on rows that the caller may see, because it can
-- raise an error or take its time on a hidden row. Postgres evaluates the conditions of a view in the order that is
-- cheapest, so searches put the caller's conditions into `CASE WHEN is_visible`.
SELECT access.policy_view('context.wm_record_of_tenant', $$
    SELECT tenant_id, id, entity_node_id, blob_id, context_id, created_at, updated_at, expires_at, archived_at, seq, size_bytes,
        version, blob_key, provider, sha256, memory_type, subtype, semantic_purpose, name, description, reasoning, content_type,
        graph_name, agent_bundle_id, app_id, created_by, owner_user_id, agent_id, index_state, index_error, tags, metadata,
        content, search, name_search, is_visible
    FROM (
        SELECT tenant_id, id, entity_node_id, blob_id, context_id, created_at, updated_at, expires_at, archived_at, seq,
            size_bytes, version, blob_key, provider, sha256, memory_type, subtype, semantic_purpose, name, description,
            reasoning, content_type, graph_name, agent_bundle_id, app_id, created_by, owner_user_id, agent_id, index_state,
            index_error, tags, metadata, content, search, name_search,
            {tenant} AND {bounds:graph} AS is_visible
        FROM context.wm_record
    ) r
    WHERE is_visible
$$);
GRANT SELECT ON context.wm_record_of_tenant TO :"service_role";

CREATE FUNCTION context.move_embedding() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE context.embedding
    SET entity_node_id = NEW.entity_node_id, hidden_at = least(NEW.archived_at, NEW.expires_at),
        memory_type = NEW.memory_type, graph_name = NEW.graph_name, agent_bundle_id = NEW.agent_bundle_id,
        app_id = NEW.app_id
    WHERE tenant_id = NEW.tenant_id AND owner_kind = 'record' AND owner_id = NEW.id;
    RETURN NULL;
END
$$;

-- The vector of a record follows its changes.
CREATE TRIGGER move_embedding AFTER UPDATE ON context.wm_record
    FOR EACH ROW WHEN (
        (OLD.entity_node_id, least(OLD.archived_at, OLD.expires_at), OLD.memory_type, OLD.graph_name, OLD.agent_bundle_id,
            OLD.app_id)
        IS DISTINCT FROM
        (NEW.entity_node_id, least(NEW.archived_at, NEW.expires_at), NEW.memory_type, NEW.graph_name, NEW.agent_bundle_id,
            NEW.app_id)
        AND coalesce(current_setting('app.moving', true), '') = ''
    )
    EXECUTE FUNCTION context.move_embedding();

-- The argument is how many records a row counts as. INSERT has no OLD and DELETE no NEW: their fields are null.
CREATE FUNCTION context.count_usage() RETURNS trigger LANGUAGE plpgsql AS $$
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

-- Rows of a tenant that is being moved here arrive as they are, together with the rows that triggers make
-- (`app.moving`, which only the mover sets; see service_runtime/moving.py).
CREATE TRIGGER count_record AFTER INSERT OR DELETE ON context.wm_record
    FOR EACH ROW WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION context.count_usage(1);
CREATE TRIGGER count_change AFTER UPDATE ON context.wm_record
    FOR EACH ROW WHEN (OLD.size_bytes <> NEW.size_bytes AND coalesce(current_setting('app.moving', true), '') = '')
    EXECUTE FUNCTION context.count_usage(1);

CREATE FUNCTION context.keep_search() RETURNS trigger
LANGUAGE plpgsql AS $$
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

CREATE TRIGGER keep_search_of_new BEFORE INSERT ON context.wm_record
    FOR EACH ROW WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION context.keep_search();
CREATE TRIGGER keep_search_of_changed BEFORE UPDATE ON context.wm_record
    FOR EACH ROW WHEN (
        (OLD.name IS DISTINCT FROM NEW.name OR OLD.description IS DISTINCT FROM NEW.description
            OR OLD.content::text IS DISTINCT FROM NEW.content::text OR OLD.content_text IS DISTINCT FROM NEW.content_text
            OR OLD.blob_text IS DISTINCT FROM NEW.blob_text OR OLD.search_language IS DISTINCT FROM NEW.search_language)
        AND coalesce(current_setting('app.moving', true), '') = ''
    )
    EXECUTE FUNCTION context.keep_search();
CREATE TRIGGER numbered BEFORE INSERT ON context.wm_record FOR EACH ROW WHEN (NEW.seq IS NULL)
    EXECUTE FUNCTION access.number_row();

-- Whether the caller sees the record: the policies of the table apply.
CREATE FUNCTION context.sees_record(record_id uuid) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM context.wm_record r
        WHERE r.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND r.id = record_id
    );
END
$$;

-- Vectors of records and of other owners, which name their kind. An owner of several texts has one vector for each
-- `name`. Searches of records read the kind 'record' with the name ''.
CREATE TABLE context.embedding (
    tenant_id uuid NOT NULL,
    owner_kind text NOT NULL CHECK (owner_kind <> ''),
    owner_id uuid NOT NULL,
    name text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    dimension integer NOT NULL,
    model text NOT NULL DEFAULT '',
    text_sha256 bytea,
    vector public.halfvec STORAGE PLAIN NOT NULL,
    -- The columns by which searches choose vectors: reading them from ten thousand records costs more than comparing
    -- the vectors.
    entity_node_id uuid,
    -- When the record is archived or expires.
    hidden_at timestamptz,
    memory_type text NOT NULL DEFAULT '',
    graph_name text NOT NULL DEFAULT 'default',
    agent_bundle_id text NOT NULL DEFAULT '',
    app_id text NOT NULL DEFAULT '',
    PRIMARY KEY (tenant_id, owner_kind, owner_id, name)
);
CREATE INDEX embedding_entity ON context.embedding (tenant_id, entity_node_id);
CREATE INDEX embedding_memory_type ON context.embedding (tenant_id, memory_type);
CREATE INDEX embedding_graph ON context.embedding (tenant_id, graph_name);
CREATE INDEX embedding_agent_bundle ON context.embedding (tenant_id, agent_bundle_id);
CREATE INDEX embedding_app ON context.embedding (tenant_id, app_id);
SELECT access.policy('context.embedding', 'tenant', 'bounds:graph');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.embedding TO :"service_role";

-- Vectors as searches read them.
SELECT access.policy_view('context.embedding_of_tenant', $$
    SELECT tenant_id, owner_kind, owner_id, name, created_at, dimension, model, text_sha256, vector, entity_node_id, hidden_at,
        memory_type, graph_name, agent_bundle_id, app_id
    FROM context.embedding
    WHERE {tenant} AND {bounds:graph}
$$);
GRANT SELECT ON context.embedding_of_tenant TO :"service_role";

-- The log of a record: append-only, and kept when the record is purged, so there is no foreign key.
CREATE TABLE context.action (
    tenant_id uuid NOT NULL,
    record_id uuid NOT NULL,
    seq bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    request_id uuid,
    kind text NOT NULL CHECK (kind IN ('created', 'updated', 'archived', 'restored', 'moved', 'purged')),
    principal text NOT NULL,
    details jsonb NOT NULL DEFAULT '{}',
    -- The node of the record, so that the history of a node includes purged records.
    entity_node_id uuid,
    -- The bounds of the key that wrote the entry.
    bounds text NOT NULL DEFAULT coalesce(current_setting('app.bounds', true), ''),
    -- An author is never taken from an archive: the author columns of an imported row name the importer. This column
    -- says which import wrote the row (`import_id`, `imported_by`, `imported_at`), and which authors the archive
    -- claims, by column.
    imported jsonb,
    PRIMARY KEY (tenant_id, record_id, seq)
);
CREATE INDEX action_entity ON context.action (tenant_id, entity_node_id, created_at, seq)
    WHERE entity_node_id IS NOT NULL;
SELECT access.policy('context.action', 'tenant', 'bounds:action');
-- The log is append-only for the services, whatever their code does.
GRANT SELECT, INSERT ON context.action TO :"service_role";
CREATE TRIGGER numbered BEFORE INSERT ON context.action FOR EACH ROW WHEN (NEW.seq IS NULL)
    EXECUTE FUNCTION access.number_row();

-- Delete log entries of records of a user who is erased; the services themselves cannot.
CREATE FUNCTION context.forget_actions(record_ids uuid[]) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH gone AS (
        DELETE FROM context.action a
        WHERE a.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND a.record_id = ANY (record_ids)
        RETURNING true
    )
    SELECT count(*) FROM gone;
END;
REVOKE ALL ON FUNCTION context.forget_actions FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context.forget_actions TO :"service_role";

-- Replace the name of an erased user among the authors that an archive claims.
CREATE FUNCTION context.renamed(imported jsonb, who text, pseudonym text) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT jsonb_object_agg(
        named.key,
        CASE WHEN named.value = to_jsonb(who) AND named.key NOT IN ('import_id', 'imported_at') THEN to_jsonb(pseudonym) ELSE named.value END
    )
    FROM jsonb_each(imported) named
);
REVOKE ALL ON FUNCTION context.renamed FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context.renamed TO :"service_role";

-- The names among these authors; none if it is null.
CREATE FUNCTION context.named_in(imported jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(
    SELECT named.value FROM jsonb_each_text(imported) named WHERE named.key NOT IN ('import_id', 'imported_at')
);
REVOKE ALL ON FUNCTION context.named_in FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context.named_in TO :"service_role";

-- Replace the name of an erased user in log entries of other records, and in the authors that archives claim. One call
-- covers a range of pages of the table.
CREATE FUNCTION context.rename_in_actions(first tid, behind tid, who text, pseudonym text) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH renamed AS (
        UPDATE context.action a
        SET principal = CASE a.principal WHEN who THEN pseudonym ELSE a.principal END,
            imported = context.renamed(a.imported, who, pseudonym)
        WHERE a.ctid >= first AND a.ctid < behind
            AND a.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid
            AND (a.principal = who OR who = ANY (context.named_in(a.imported))) AND who <> ''
        RETURNING true
    )
    SELECT count(*) FROM renamed;
END;
REVOKE ALL ON FUNCTION context.rename_in_actions FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context.rename_in_actions TO :"service_role";

-- Resumable uploads: each part is a blob of its own.
CREATE TABLE context.upload (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- The upload is abandoned after this time; each part extends it.
    due_at timestamptz NOT NULL,
    -- The expected size and checksum of the whole; null: the caller did not say.
    size_bytes bigint,
    sha256 bytea,
    -- The record as the caller described it.
    record jsonb NOT NULL,
    -- For whom the call was: "=" and the user's id.
    subject text DEFAULT nullif(current_setting('app.subject', true), ''),
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX upload_due ON context.upload (tenant_id, due_at);
SELECT access.policy('context.upload', 'tenant', 'bounds:upload');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.upload TO :"service_role";

-- Whether the caller sees the upload.
CREATE FUNCTION context.sees_upload(upload_id uuid) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM context.upload u
        WHERE u.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND u.id = upload_id
    );
END
$$;

-- Parts lie end to end: the first begins at 0, each other part where the one before it ends.
CREATE TABLE context.upload_part (
    tenant_id uuid NOT NULL,
    upload_id uuid NOT NULL,
    blob_id uuid NOT NULL,
    offset_bytes bigint NOT NULL CHECK (offset_bytes >= 0),
    size_bytes bigint NOT NULL CHECK (size_bytes > 0),
    number integer NOT NULL,
    PRIMARY KEY (tenant_id, upload_id, offset_bytes),
    FOREIGN KEY (tenant_id, upload_id) REFERENCES context.upload (tenant_id, id),
    FOREIGN KEY (tenant_id, blob_id) REFERENCES context.blob (tenant_id, id)
);
CREATE UNIQUE INDEX upload_part_blob ON context.upload_part (tenant_id, blob_id);
SELECT access.policy('context.upload_part', 'tenant', 'bounds:upload_part');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.upload_part TO :"service_role";
CREATE TRIGGER count_part AFTER INSERT OR DELETE ON context.upload_part
    FOR EACH ROW WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION context.count_usage(0);

-- The transactional outbox: work that a committed write needs later. It is leased and retried.
CREATE TABLE context.outbox (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    due_at timestamptz NOT NULL DEFAULT now(),
    attempts integer NOT NULL DEFAULT 0,
    topic text NOT NULL,
    subject_id uuid NOT NULL,
    payload jsonb NOT NULL DEFAULT '{}',
    last_error text NOT NULL DEFAULT '',
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX outbox_due ON context.outbox (tenant_id, due_at);
-- The newest order for a subject replaces the one before it.
CREATE UNIQUE INDEX outbox_subject ON context.outbox (tenant_id, topic, subject_id);
SELECT access.policy('context.outbox', 'tenant', 'bounds:known');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.outbox TO :"service_role";

-- Answers of idempotent calls.
CREATE TABLE context.request (
    tenant_id uuid NOT NULL,
    request_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    rpc text NOT NULL,
    fingerprint bytea NOT NULL,
    answer jsonb NOT NULL,
    -- The bounds of the key that called: keys with other bounds do not get the answer.
    bounds text NOT NULL DEFAULT coalesce(current_setting('app.bounds', true), ''),
    -- The context whose messages the answer names: the answer is deleted with it. No policy reads it, because a
    -- repeated call that began a context does not know its id.
    about_id uuid,
    -- For whom the call was: "=" and the user's id.
    subject text DEFAULT nullif(current_setting('app.subject', true), ''),
    PRIMARY KEY (tenant_id, request_id)
);
CREATE INDEX request_age ON context.request (tenant_id, created_at);
CREATE INDEX request_about ON context.request (tenant_id, about_id) WHERE about_id IS NOT NULL;
SELECT access.policy('context.request', 'tenant', 'bounds:same');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.request TO :"service_role";

-- Named mappings that apps register.
CREATE TABLE context.mapping (
    tenant_id uuid NOT NULL,
    -- Empty: shared by the whole tenant.
    app_id text NOT NULL,
    name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    -- The author's own number; 0: none.
    rules_version bigint NOT NULL,
    version integer NOT NULL DEFAULT 1,
    rules jsonb NOT NULL,
    created_by text NOT NULL,
    imported jsonb,
    PRIMARY KEY (tenant_id, app_id, name)
);
SELECT access.policy('context.mapping', 'tenant', 'bounds:read_app', 'bounds:write_app');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.mapping TO :"service_role";

-- One row without a tenant, which tells every replica that some mapping changed. It is a row and not a sequence,
-- because it must become visible together with the change, never before it.
CREATE TABLE context.mapping_revision (
    singleton boolean DEFAULT true PRIMARY KEY CHECK (singleton),
    revision bigint NOT NULL
);
GRANT SELECT, UPDATE ON context.mapping_revision TO :"service_role";

INSERT INTO context.mapping_revision (revision) VALUES (0);

-- Limits of tenants that differ from the settings.
CREATE TABLE context.tenant_limit (
    tenant_id uuid PRIMARY KEY,
    -- Null: as the setting says.
    blob_bytes_max bigint CHECK (blob_bytes_max > 0),
    content_bytes_max bigint CHECK (content_bytes_max > 0),
    bytes_max bigint CHECK (bytes_max >= 0),
    records_max bigint CHECK (records_max >= 0)
);
SELECT access.policy('context.tenant_limit', 'tenant', 'bounds:known');
-- Only the owner sets limits.
GRANT SELECT ON context.tenant_limit TO :"service_role";

-- What a tenant stores, counted by triggers in the same transaction, so it never differs from the rows. Each backend
-- counts in a row of its own, or nearly: with one row a tenant, writers would wait for each other's commits. Single
-- rows mean nothing and may be negative; their sum counts.
CREATE TABLE context.tenant_usage (
    tenant_id uuid NOT NULL,
    shard smallint NOT NULL,
    records bigint NOT NULL,
    size_bytes bigint NOT NULL,
    PRIMARY KEY (tenant_id, shard)
) WITH (fillfactor = 50);
SELECT access.policy('context.tenant_usage', 'tenant', 'bounds:known');
GRANT SELECT, INSERT, UPDATE ON context.tenant_usage TO :"service_role";


-- Contexts
-- --------

-- Contexts: isolated conversations. Each has a header, messages in an order without gaps, tasks and artifacts, and ids
-- of other systems. Every row repeats the columns that policies read (owner, ancestors, app, bundle); they never
-- change. A context that is deleted or expired is gone at once for every caller, and removed in steps after that. The
-- fill factor leaves room for updates in the same page: each message updates its header.
CREATE TABLE context.context (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    -- The context itself and those it was forked from, oldest first.
    ancestors uuid[] NOT NULL,
    entity_node_id uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    closed_at timestamptz,
    -- Of the newest message: its number, time and session. Sessions count from 0; the name is the sender's.
    last_seq bigint NOT NULL DEFAULT 0,
    last_said_at timestamptz NOT NULL,
    last_session bigint NOT NULL DEFAULT 0,
    message_count bigint NOT NULL DEFAULT 0,
    token_count bigint NOT NULL DEFAULT 0,
    last_session_name text NOT NULL DEFAULT '',
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    created_by text NOT NULL,
    title text NOT NULL DEFAULT '',
    recall_profile text NOT NULL DEFAULT '',
    -- The id of another system for which the owner has just this context; null for most.
    only_system text,
    only_id text,
    agent_ids text[] NOT NULL DEFAULT '{}',
    -- [{"system": …, "id": …}] in the given order; `context_external_id` finds contexts by them.
    external_ids jsonb NOT NULL DEFAULT '[]',
    metadata jsonb NOT NULL DEFAULT '{}',
    deleted_at timestamptz,
    -- The number of tasks, and the number of the newest change of a task, an artifact, a retraction or the header: the
    -- next change takes the next number.
    task_count integer NOT NULL DEFAULT 0,
    last_change bigint NOT NULL DEFAULT 0,
    artifact_count integer NOT NULL DEFAULT 0,
    header_change bigint NOT NULL DEFAULT 0,
    imported jsonb,
    PRIMARY KEY (tenant_id, context_id),
    CHECK ((only_system IS NULL) = (only_id IS NULL)),
    CONSTRAINT context_check1 CHECK (ancestors[cardinality(ancestors)] = context_id)
) WITH (fillfactor = 80);
CREATE INDEX context_newest ON context.context (tenant_id, created_at DESC, context_id DESC);
-- Includes app and agent bundle: a key bound to others must not learn that such a context exists.
CREATE UNIQUE INDEX context_only ON context.context (tenant_id, owner_user_id, app_id, agent_bundle_id, only_system,
    only_id)
    WHERE only_system IS NOT NULL;
CREATE INDEX context_expiry ON context.context (tenant_id, expires_at) WHERE expires_at IS NOT NULL;
-- Finds the contexts of a user who is erased.
CREATE INDEX context_owner ON context.context (tenant_id, owner_user_id) WHERE owner_user_id <> '';
-- The contexts below a context go with it: found by the first of their ancestors. Contexts that were not forked are not
-- in it.
CREATE INDEX context_forked ON context.context (tenant_id, (ancestors[1]), context_id) WHERE ancestors[2] IS NOT NULL;
SELECT access.policy('context.context', 'tenant', 'context', 'subject', 'bounds:context');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.context TO :"service_role";

CREATE TABLE context.context_external_id (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    system text NOT NULL,
    id text NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    PRIMARY KEY (tenant_id, system, id, context_id)
);
CREATE INDEX context_external_id_of ON context.context_external_id (tenant_id, context_id);
SELECT access.policy('context.context_external_id', 'tenant', 'context', 'subject', 'bounds:context');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.context_external_id TO :"service_role";

-- The log. No foreign key is needed: the statement that writes messages holds the lock of their header.
CREATE TABLE context.message (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    seq bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    said_at timestamptz NOT NULL,
    retracted_at timestamptz,
    session bigint NOT NULL,
    tokens integer NOT NULL,
    size_bytes integer NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    message_id text NOT NULL,
    role text NOT NULL CHECK (role IN ('user', 'assistant', 'system', 'tool')),
    name text NOT NULL DEFAULT '',
    agent_id text NOT NULL DEFAULT '',
    content text NOT NULL DEFAULT '',
    -- Of the content as sent, without secrets: the same id with other content is refused.
    content_sha256 bytea NOT NULL,
    -- json, not jsonb: callers get them back byte for byte.
    parts json,
    metadata json,
    task_id uuid,
    reference_task_ids uuid[],
    retracted_change bigint,
    PRIMARY KEY (tenant_id, context_id, seq)
);
CREATE UNIQUE INDEX message_id ON context.message (tenant_id, context_id, message_id);
-- Only messages of tasks are in it.
CREATE INDEX message_task ON context.message (tenant_id, context_id, task_id, seq) WHERE task_id IS NOT NULL;
-- Only retracted messages are in it.
CREATE INDEX message_retracted ON context.message (tenant_id, context_id, retracted_change)
    WHERE retracted_change IS NOT NULL;
SELECT access.policy('context.message', 'tenant', 'context', 'subject', 'bounds:context');
-- The log is written once: only a retraction changes a message.
GRANT SELECT, INSERT, DELETE ON context.message TO :"service_role";
GRANT UPDATE (retracted_at, retracted_change) ON context.message TO :"service_role";

-- Tasks: work within a context, with a state; messages may belong to one.
CREATE TABLE context.task (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    task_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    status_at timestamptz NOT NULL DEFAULT now(),
    -- The number of its newest change.
    change bigint NOT NULL,
    version bigint NOT NULL DEFAULT 1,
    state text NOT NULL CHECK (state IN ('submitted', 'working', 'input_required', 'auth_required', 'completed',
        'failed', 'canceled', 'rejected')),
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    created_by text NOT NULL,
    -- Other tasks of the context that it builds on.
    reference_task_ids uuid[] NOT NULL DEFAULT '{}',
    -- json, not jsonb: callers get both back byte for byte.
    status_message json,
    metadata json,
    imported jsonb,
    -- Without the context: the server makes the ids.
    PRIMARY KEY (tenant_id, task_id)
);
CREATE INDEX task_newest ON context.task (tenant_id, context_id, task_id);
CREATE INDEX task_change ON context.task (tenant_id, context_id, change);
SELECT access.policy('context.task', 'tenant', 'context', 'subject', 'bounds:context');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.task TO :"service_role";

-- Records that messages point at: their texts are found in the context, too. A row is written with its message. It is
-- the order to read the record, and later says how that went.
CREATE TABLE context.message_record (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    seq bigint NOT NULL,
    -- Of the message, from 1.
    part integer NOT NULL,
    -- Null: the record was purged, and its passages must go.
    record_id uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    due_at timestamptz NOT NULL DEFAULT now(),
    attempts integer NOT NULL DEFAULT 0,
    -- Written so far.
    passages integer NOT NULL DEFAULT 0,
    state text NOT NULL DEFAULT 'PENDING' CHECK (state IN ('PENDING', 'INDEXED', 'FAILED', 'NO_TEXT')),
    -- Why its file gives no text; while it is pending, what failed the last time.
    reason text NOT NULL DEFAULT '',
    detail text NOT NULL DEFAULT '',
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    -- The record's node, kept behind the policies of the context: readers of the context ask for messages about a node,
    -- and need not see the record.
    entity_node_id uuid,
    PRIMARY KEY (tenant_id, context_id, seq, part)
);
CREATE INDEX message_record_of ON context.message_record (tenant_id, record_id) WHERE record_id IS NOT NULL;
CREATE INDEX message_record_due ON context.message_record (tenant_id, due_at)
    WHERE state = 'PENDING' OR record_id IS NULL;
-- The few rows of a context that are pending or failed.
CREATE INDEX message_record_open ON context.message_record (tenant_id, context_id, seq) WHERE state <> 'INDEXED';
CREATE INDEX message_record_about ON context.message_record (tenant_id, context_id, entity_node_id)
    WHERE entity_node_id IS NOT NULL;
SELECT access.policy('context.message_record', 'tenant', 'context', 'subject', 'bounds:context');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.message_record TO :"service_role";

-- Detach records that are purged from the messages that point at them. A function of the owner and not a foreign key
-- that sets null: a caller that purges need not see the contexts.
CREATE FUNCTION context.let_go_of_records(record_ids uuid[]) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH gone AS (
        UPDATE context.message_record r SET record_id = NULL, due_at = now()
        WHERE r.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND r.record_id = ANY (record_ids)
            AND NOT EXISTS (SELECT FROM context.wm_record w WHERE w.tenant_id = r.tenant_id AND w.id = r.record_id)
        RETURNING true
    )
    SELECT count(*) FROM gone;
END;
REVOKE ALL ON FUNCTION context.let_go_of_records FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context.let_go_of_records TO :"service_role";

-- Artifacts: what a task makes. There is a row for each version; searches find the newest.
CREATE TABLE context.artifact (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    task_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    -- The number of its newest change, among the changes of the context.
    change bigint NOT NULL,
    -- The `seq` of its passages: the change that began it, negated, where there is no message.
    place bigint NOT NULL CHECK (place < 0),
    version integer NOT NULL,
    part_count integer NOT NULL,
    -- Passages of its parts.
    passage_count integer NOT NULL,
    tokens integer NOT NULL,
    size_bytes integer NOT NULL,
    is_newest boolean NOT NULL DEFAULT true,
    -- Its last chunk has arrived.
    is_complete boolean NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    created_by text NOT NULL,
    -- The sender's, unique within the task.
    artifact_id text NOT NULL,
    name text NOT NULL DEFAULT '',
    description text NOT NULL DEFAULT '',
    -- json, not jsonb: callers get both back byte for byte.
    parts json NOT NULL,
    metadata json,
    imported jsonb,
    PRIMARY KEY (tenant_id, task_id, artifact_id, version)
);
CREATE UNIQUE INDEX artifact_place ON context.artifact (tenant_id, context_id, place);
CREATE UNIQUE INDEX artifact_newest ON context.artifact (tenant_id, task_id, artifact_id) WHERE is_newest;
CREATE INDEX artifact_change ON context.artifact (tenant_id, context_id, change);
SELECT access.policy('context.artifact', 'tenant', 'context', 'subject', 'bounds:context');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.artifact TO :"service_role";

-- Receipts of contexts that are being removed or were: numbers and times, and nothing of the content.
CREATE TABLE context.erasure (
    tenant_id uuid NOT NULL,
    erasure_id uuid NOT NULL,
    context_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    -- How far messages are removed, so that the next step reads none that is gone.
    last_seq_removed bigint NOT NULL DEFAULT 0,
    -- Messages of the log, retracted ones included.
    message_count bigint NOT NULL,
    messages_removed bigint NOT NULL DEFAULT 0,
    passages_removed bigint NOT NULL DEFAULT 0,
    vectors_removed bigint NOT NULL DEFAULT 0,
    external_ids_removed bigint NOT NULL DEFAULT 0,
    answers_removed bigint NOT NULL DEFAULT 0,
    keys_ended bigint NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    -- Empty: the context had expired.
    requested_by text NOT NULL,
    tasks_removed bigint NOT NULL DEFAULT 0,
    artifacts_removed bigint NOT NULL DEFAULT 0,
    windows_removed bigint NOT NULL DEFAULT 0,
    window_steps_removed bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, context_id)
);
CREATE UNIQUE INDEX erasure_id ON context.erasure (tenant_id, erasure_id);
-- Unfinished removals, and old receipts.
CREATE INDEX erasure_finished ON context.erasure (tenant_id, finished_at, context_id);
SELECT access.policy('context.erasure', 'tenant', 'context', 'subject', 'bounds:context');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.erasure TO :"service_role";


-- Passages
-- --------

-- Passages: chunks of any text, found by their words. The texts that are searched together are a scope: a context, the
-- records of a node, the memories of a user. Rows repeat the columns that policies read, so that searches join nothing.
--
-- `terms` are numbers, one for each term of the text in its order, made of the scope and the term. So one index serves
-- all scopes, however many; searches check the scope of each row again.
CREATE TABLE context.passage (
    tenant_id uuid NOT NULL,
    scope_id uuid NOT NULL,
    -- The context that the passage belongs to, if any.
    context_id uuid,
    task_id uuid,
    -- What it was cut out of, besides `seq`: an artifact, a record, a document.
    source_id uuid,
    seq bigint NOT NULL,
    session bigint NOT NULL,
    said_at timestamptz NOT NULL,
    ordinal integer NOT NULL,
    part integer NOT NULL,
    -- The number of the utterance in its session, from 0; null: a result of a tool, or a file.
    place integer,
    -- The number of terms of the utterance before it in the session, whose row searches need not read.
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
    PRIMARY KEY (tenant_id, scope_id, scope_kind, seq, ordinal),
    -- Policies of contexts do not apply to rows without one, so rows of a context must name it.
    CONSTRAINT passage_context_check CHECK (CASE WHEN context_id IS NULL THEN scope_kind <> 'context' AND ancestors =
        '{}' ELSE context_id = ANY (ancestors) END AND (scope_kind <> 'context' OR context_id = scope_id))
);
-- New entries that are not merged yet are searched one by one, so their list is kept short.
CREATE INDEX passage_terms ON context.passage USING gin (terms) WITH (gin_pending_list_limit = 512);
-- The utterances directly before and after a passage: in an agent's log many results of tools lie between two
-- utterances.
CREATE INDEX passage_place ON context.passage (tenant_id, scope_id, session, place) WHERE place IS NOT NULL;

-- Whether a passage is within the bounds of the key: those of contexts if it belongs to one, the others if not. Not
-- parallel safe: a call takes one process.
CREATE FUNCTION context.passage_in_bounds(
    context_id uuid, ancestors uuid[], graph_name text, agent_bundle_id text, app_id text
) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF context_id IS NULL THEN
        RETURN context.in_bounds(graph_name, agent_bundle_id, app_id);
    END IF;
    RETURN access.context_in_bounds(ancestors, agent_bundle_id, app_id);
END
$$;

SELECT access.policy('context.passage', 'tenant', 'context_if_any', 'subject', 'bounds:passage');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.passage TO :"service_role";

-- Passages as searches read them, with the conditions of the policies. `nullif` around the tenant keeps the planner
-- from the primary key: it would read everything that the tenant has, next to what the terms find.
SELECT access.policy_view('context.passage_of_tenant', $$
    SELECT tenant_id, scope_id, context_id, task_id, source_id, seq, session, said_at, ordinal, part, place, length_before, marks,
        scope_kind, kind, role, author, owner_user_id, graph_name, agent_bundle_id, app_id, ancestors, terms, text
    FROM context.passage
    WHERE nullif({tenant}, false) IS NOT NULL
        AND {bounds:passage} AND {context_if_any} AND {subject}
$$);
GRANT SELECT ON context.passage_of_tenant TO :"service_role";

-- The passages of a session as one document. Numbers of a session are never reused.
CREATE TABLE context.passage_session (
    tenant_id uuid NOT NULL,
    scope_id uuid NOT NULL,
    context_id uuid,
    session bigint NOT NULL,
    passages bigint NOT NULL,
    -- Terms of all passages.
    length bigint NOT NULL,
    -- Utterances so far, deleted ones included.
    places integer NOT NULL,
    -- Terms of the last utterance.
    last_length integer NOT NULL,
    -- Terms of the utterance before the last passage.
    length_before_last integer NOT NULL,
    scope_kind text NOT NULL,
    owner_user_id text NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    ancestors uuid[] NOT NULL,
    PRIMARY KEY (tenant_id, scope_id, scope_kind, session),
    CONSTRAINT passage_session_context_check CHECK (CASE WHEN context_id IS NULL THEN scope_kind <> 'context' AND
        ancestors = '{}' ELSE context_id = ANY (ancestors) END AND (scope_kind <> 'context' OR context_id = scope_id))
) WITH (fillfactor = 50);
SELECT access.policy('context.passage_session', 'tenant', 'context_if_any', 'subject', 'bounds:passage');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.passage_session TO :"service_role";

-- Statistics of a scope, one row for each audience: a caller's statistics count only passages that the caller may see.
CREATE TABLE context.passage_scope (
    tenant_id uuid NOT NULL,
    scope_id uuid NOT NULL,
    context_id uuid,
    -- The lowest number so far.
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    passages bigint NOT NULL,
    -- Sessions with passages.
    sessions bigint NOT NULL,
    -- Terms of all passages.
    length bigint NOT NULL,
    -- Terms of the utterances before each passage, added up.
    length_before bigint NOT NULL,
    -- Terms of the utterances after each passage, added up.
    length_after bigint NOT NULL,
    scope_kind text NOT NULL,
    owner_user_id text NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    ancestors uuid[] NOT NULL,
    authors text[] NOT NULL,
    PRIMARY KEY (tenant_id, scope_id, scope_kind, owner_user_id, graph_name, agent_bundle_id, app_id),
    CONSTRAINT passage_scope_context_check CHECK (CASE WHEN context_id IS NULL THEN scope_kind <> 'context' AND
        ancestors = '{}' ELSE context_id = ANY (ancestors) END AND (scope_kind <> 'context' OR context_id = scope_id))
) WITH (fillfactor = 50);
SELECT access.policy('context.passage_scope', 'tenant', 'context_if_any', 'subject', 'bounds:passage');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.passage_scope TO :"service_role";

-- Vectors of passages, made in the background by the current model, one for each. They have a table of their own,
-- because a vector is as long as a text, comes later, and goes with its model. For each scope with missing vectors the
-- outbox has a row, whose payload says from which `seq` on.
CREATE TABLE context.passage_vector (
    tenant_id uuid NOT NULL,
    scope_id uuid NOT NULL,
    context_id uuid,
    seq bigint NOT NULL,
    -- The utterance before it in the session, if that has a vector, and the cosine of the two: both together are
    -- compared, too.
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
    -- Why the model has no vector for this text; empty if it has one.
    error text NOT NULL DEFAULT '',
    -- Of unit length and the model's own size. Searches read all vectors of a scope, so they are not stored out of
    -- line.
    vector public.halfvec STORAGE PLAIN,
    -- Includes the model, so that an index-only scan counts its vectors.
    PRIMARY KEY (tenant_id, scope_id, scope_kind, seq, ordinal) INCLUDE (model),
    CONSTRAINT passage_vector_context_check CHECK (CASE WHEN context_id IS NULL THEN scope_kind <> 'context' AND
        ancestors = '{}' ELSE context_id = ANY (ancestors) END AND (scope_kind <> 'context' OR context_id = scope_id)),
    CONSTRAINT passage_vector_made_check CHECK ((vector IS NULL) = (error <> ''))
);
CREATE INDEX passage_vector_failed ON context.passage_vector (tenant_id, scope_id, scope_kind) WHERE error <> '';
SELECT access.policy('context.passage_vector', 'tenant', 'context_if_any', 'subject', 'bounds:passage');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.passage_vector TO :"service_role";


-- Context windows
-- ---------------

-- Windows: what one model sees of a context, and the state that its packs are made of. Everything can be rebuilt from
-- the log, except pins, and the state that callers set.
CREATE TABLE context.context_window (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    window_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    closed_at timestamptz,
    -- All messages up to it are in blocks, or were retracted; and the number of retractions in the context at that
    -- time.
    reached_seq bigint NOT NULL DEFAULT 0,
    retracted_count bigint NOT NULL DEFAULT 0,
    -- How often the prefix of its packs was broken, and the first block that is seen since.
    epoch integer NOT NULL DEFAULT 0,
    first_number integer NOT NULL DEFAULT 0,
    block_count integer NOT NULL DEFAULT 0,
    left_out_tokens bigint NOT NULL DEFAULT 0,
    context_tokens integer NOT NULL,
    token_limit integer NOT NULL,
    head_tokens integer NOT NULL,
    format text NOT NULL CHECK (format IN ('openai', 'openai_responses', 'anthropic', 'gemini')),
    tokens_family text NOT NULL,
    model text NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    created_by text NOT NULL,
    system_prompt text NOT NULL,
    goal text NOT NULL,
    -- json, not jsonb: they are sent as they came.
    tools json,
    profile text NOT NULL DEFAULT 'general',
    -- The other options of OpenWindow: a JSON object.
    config json NOT NULL DEFAULT '{}',
    step_count integer NOT NULL DEFAULT 0,
    entry_count bigint NOT NULL DEFAULT 0,
    -- The last step of the last fold, and the state as it was written then.
    folded_step integer NOT NULL DEFAULT 0,
    state_text text NOT NULL DEFAULT '',
    state_pieces text NOT NULL DEFAULT '[]',
    state_tokens integer NOT NULL DEFAULT 0,
    -- The pins, as a model sees them.
    pins_pieces text NOT NULL DEFAULT '[]',
    pins_tokens integer NOT NULL DEFAULT 0,
    -- Tokens of all packs, where the config limits them, and the last pack, because each pack counts once.
    spent_tokens bigint NOT NULL DEFAULT 0,
    spent_epoch integer NOT NULL DEFAULT 0,
    spent_seq bigint NOT NULL DEFAULT -1,
    -- Counted tokens times this are at most the billed tokens: the budget is kept by it.
    token_factor double precision NOT NULL DEFAULT 1,
    -- Ratios of this context's own bills, as in context.token_calibration. Reports by keys of the context teach this
    -- window, and no other context.
    bill_ratios smallint[] NOT NULL DEFAULT '{}',
    -- Some entry that a caller set was not shown to a model yet.
    has_untold boolean NOT NULL DEFAULT false,
    -- A fold that is worked out ahead: what becomes of blocks and summaries, with the texts of new ones, as JSON. It
    -- holds as long as its epoch. Null: there is none, it was committed, or the prefix broke.
    prepared text,
    -- The epoch of the last prepared fold.
    prepared_epoch integer,
    -- Of the steps that no block covers any more: JSON, see `tallies.py`.
    tallies text NOT NULL DEFAULT '{}',
    -- When it was packed last for a model: the vendor's prompt cache is as warm as that is recent. Null: never.
    packed_at timestamptz,
    -- The newest message that this pack had read.
    packed_seq bigint NOT NULL DEFAULT 0,
    -- The newest checkpoint, a number from 1 that is never reused; and the step of the last checkpoint that was made by
    -- number of steps.
    checkpoint_count integer NOT NULL DEFAULT 0,
    checkpoint_step integer NOT NULL DEFAULT 0,
    -- The epoch that the last rollback began; 0: never.
    rolled_back_epoch integer NOT NULL DEFAULT 0,
    -- Messages that rollbacks left out: the window reads its log without them.
    left_out int8multirange NOT NULL DEFAULT '{}',
    model_failures smallint NOT NULL DEFAULT 0,
    extractive_to integer NOT NULL DEFAULT 0,
    -- Outcomes of steps: JSON, `[first, last, score]` each, in order.
    outcomes text NOT NULL DEFAULT '[]',
    -- Of a fork: the window with which its run began. Its tokens count there, too.
    run_context_id uuid,
    run_window_id uuid,
    -- How many lookups in it were counted for learning: one window teaches a limited number.
    taught_count integer NOT NULL DEFAULT 0,
    imported jsonb,
    PRIMARY KEY (tenant_id, window_id)
);
CREATE INDEX window_newest ON context.context_window (tenant_id, context_id, window_id);
SELECT access.policy('context.context_window', 'tenant', 'context', 'subject', 'bounds:context');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.context_window TO :"service_role";

-- Count tokens of a forked window in its run, unless they exceed the limit of the run; return null if there is no
-- limit. A function of the owner: a key of the fork's context sees nothing of the window where the run began, and is
-- still charged there. It reaches only the run of a window that the transaction sees.
CREATE FUNCTION context.spend_of_run(of_context_id uuid, of_window_id uuid, tokens bigint)
RETURNS TABLE (spent bigint, spent_max bigint, is_over boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
REVOKE ALL ON FUNCTION context.spend_of_run FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context.spend_of_run TO :"service_role";

-- The blocks of a window's packs: steps, recalled passages and notes. A block that is masked keeps both forms, so that
-- masking and rolling back write nothing large.
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
    -- The block as the vendor gets it: pairs of a role and JSON. Made once, and never changed.
    pieces text NOT NULL,
    step integer NOT NULL DEFAULT 0,
    -- step, recalled or note. A note after a step is not a step.
    kind text NOT NULL DEFAULT 'step',
    is_error boolean NOT NULL DEFAULT false,
    is_masked boolean NOT NULL DEFAULT false,
    -- As `pieces`, with tool results cleared; null: clearing saves nothing.
    masked text,
    -- `tokens` are those of the form that is seen, these those of the other one.
    masked_tokens integer,
    -- Lines that a summary can be made of, and the things that are mentioned: JSON.
    units text NOT NULL DEFAULT '[]',
    names text NOT NULL DEFAULT '[]',
    -- The version that rendered it: it is sent unchanged for ever.
    renderer smallint NOT NULL DEFAULT 1,
    -- Calls of tools in this step, [["name", calls, failures], …], counted when the window catches up. A fold that
    -- hides steps adds theirs to the window, so going back to an earlier step subtracts nothing.
    tools text NOT NULL DEFAULT '[]',
    -- The epoch since which it is masked, and the state before, to go back to.
    masked_epoch integer,
    -- The epoch since which it is not seen; it stays as long as a checkpoint shows it.
    epoch_to integer,
    -- Refs of the passages that it recalls.
    refs text NOT NULL DEFAULT '',
    PRIMARY KEY (tenant_id, window_id, number)
);
CREATE INDEX window_block_context ON context.window_block (tenant_id, context_id);
CREATE INDEX window_block_seen ON context.window_block (tenant_id, window_id, number) WHERE epoch_to IS NULL;
SELECT access.policy('context.window_block', 'tenant', 'context', 'subject', 'bounds:context');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.window_block TO :"service_role";

-- Segments of steps, and digests of segments.
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
    -- The epoch in which it came into view, and the one in which a deeper summary replaced it.
    epoch_from integer NOT NULL,
    epoch_to integer,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    text text NOT NULL,
    -- As a model sees it; and the best lines of what it covers, for a deeper one.
    pieces text NOT NULL,
    kept text NOT NULL,
    -- What wrote it, and the verdict on the text that a model wrote for it.
    method text NOT NULL DEFAULT 'extractive',
    verdict text NOT NULL DEFAULT '',
    PRIMARY KEY (tenant_id, window_id, step_from, level)
);
CREATE INDEX window_summary_context ON context.window_summary (tenant_id, context_id);
CREATE INDEX window_summary_seen ON context.window_summary (tenant_id, window_id) WHERE epoch_to IS NULL;
SELECT access.policy('context.window_summary', 'tenant', 'context', 'subject', 'bounds:context');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.window_summary TO :"service_role";

-- Extracted state: entries from the log or from a caller, and pins. Entries of callers are shown after the last step of
-- the next pack, and are kept when the rest is rebuilt from the log.
CREATE TABLE context.window_entry (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    window_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    number bigint NOT NULL,
    seq bigint NOT NULL,
    section text NOT NULL,
    -- Empty: not about anything in particular.
    key text NOT NULL,
    text text NOT NULL,
    value text NOT NULL,
    ref text NOT NULL,
    -- rule or caller.
    source text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- The entry that replaced it, and when it ended.
    superseded_by bigint,
    ended_at timestamptz,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    -- The message that ended it, so that a window can go back to before that; 0: a caller ended it.
    ended_seq bigint,
    -- Of a caller's entry: a model has read it since the prefix last broke.
    is_told boolean NOT NULL DEFAULT true,
    -- The newest checkpoint when it ended, and when a model was told of it.
    ended_checkpoint integer,
    told_checkpoint integer,
    PRIMARY KEY (tenant_id, window_id, number)
);
CREATE INDEX window_entry_context ON context.window_entry (tenant_id, context_id);
CREATE INDEX window_entry_holds ON context.window_entry (tenant_id, window_id, section, key) WHERE ended_at IS NULL;
SELECT access.policy('context.window_entry', 'tenant', 'context', 'subject', 'bounds:context');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.window_entry TO :"service_role";

-- Every break of the prefix, with the reason and what was done.
CREATE TABLE context.window_fold (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    window_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    epoch integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    reason text NOT NULL,
    last_seq bigint NOT NULL,
    step integer NOT NULL,
    tokens_before integer NOT NULL,
    tokens_after integer NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    receipt json NOT NULL,
    PRIMARY KEY (tenant_id, window_id, epoch)
);
CREATE INDEX window_fold_context ON context.window_fold (tenant_id, context_id);
SELECT access.policy('context.window_fold', 'tenant', 'context', 'subject', 'bounds:context');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.window_fold TO :"service_role";

-- What vendors billed for packs, one row for each epoch: a window has few epochs, and any number of calls.
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
    agent_bundle_id text NOT NULL,
    PRIMARY KEY (tenant_id, window_id, epoch)
);
CREATE INDEX window_usage_context ON context.window_usage (tenant_id, context_id);
SELECT access.policy('context.window_usage', 'tenant', 'context', 'subject', 'bounds:context');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.window_usage TO :"service_role";

-- Checkpoints: a window at one time, in one row each. Blocks, summaries and entries say since which epoch they are as
-- they are, so a rollback undoes what came after it.
CREATE TABLE context.window_checkpoint (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    window_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    number integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- As in context.context_window.
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
    -- Why it was made: steps, fold or caller.
    reason text NOT NULL,
    created_by text NOT NULL,
    label text NOT NULL,
    state_text text NOT NULL,
    state_pieces text NOT NULL,
    tallies text NOT NULL,
    imported jsonb,
    PRIMARY KEY (tenant_id, window_id, number)
);
CREATE INDEX window_checkpoint_context ON context.window_checkpoint (tenant_id, context_id);
SELECT access.policy('context.window_checkpoint', 'tenant', 'context', 'subject', 'bounds:context');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.window_checkpoint TO :"service_role";

-- Forks: contexts of their own for a part of the work. The row belongs to the context that was forked, so that a key of
-- the fork does not see it.
CREATE TABLE context.window_fork (
    tenant_id uuid NOT NULL,
    -- The context that was forked.
    context_id uuid NOT NULL,
    window_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    -- From 1, within the context: refs name it.
    number integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- When it was merged or erased.
    ended_at timestamptz,
    fork_context_id uuid NOT NULL,
    fork_window_id uuid NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    -- The message with its result, the tokens of that, and whether it has the whole result; null: not merged.
    merged_seq bigint,
    merged_id text,
    merged_tokens integer,
    is_whole boolean,
    PRIMARY KEY (tenant_id, context_id, number)
);
CREATE UNIQUE INDEX window_fork_of ON context.window_fork (tenant_id, fork_context_id);
CREATE INDEX window_fork_awaited ON context.window_fork (tenant_id, context_id) WHERE ended_at IS NULL;
SELECT access.policy('context.window_fork', 'tenant', 'context', 'subject', 'bounds:context');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.window_fork TO :"service_role";

-- Ratios of billed to counted tokens, in parts of 10,000, newest last. A row says nothing about any context and stays
-- when one is erased: the name of the model, which a caller may choose, is hashed.
CREATE TABLE context.token_calibration (
    tenant_id uuid NOT NULL,
    model_sha bytea NOT NULL,
    profile text NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    ratios smallint[] NOT NULL DEFAULT '{}',
    -- Made of the ratios: see tokens/calibration.py.
    factor double precision NOT NULL DEFAULT 1,
    PRIMARY KEY (tenant_id, model_sha, profile)
);
SELECT access.policy('context.token_calibration', 'tenant', 'bounds:known');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.token_calibration TO :"service_role";

-- Compression profiles that tenants register, and which version each name stands for. Each content is a version, which
-- stays.
CREATE TABLE context.window_profile (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    -- The newest version; 0: none yet.
    version integer NOT NULL DEFAULT 0,
    version_count integer NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, name)
);
SELECT access.policy('context.window_profile', 'tenant', 'bounds:read', 'bounds:write');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.window_profile TO :"service_role";

CREATE TABLE context.window_profile_version (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    version integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    sha256 bytea NOT NULL,
    created_by text NOT NULL,
    text text NOT NULL,
    -- A learned version has no text: it is its base with other numbers.
    base text NOT NULL DEFAULT '',
    app_id text NOT NULL DEFAULT '',
    context_count integer NOT NULL DEFAULT 0,
    learned jsonb,
    -- The counts that it was learned from.
    evidence jsonb,
    imported jsonb,
    PRIMARY KEY (tenant_id, name, version)
);
CREATE UNIQUE INDEX window_profile_content ON context.window_profile_version (tenant_id, name, sha256);
SELECT access.policy('context.window_profile_version', 'tenant', 'bounds:read_app', 'bounds:write');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.window_profile_version TO :"service_role";

-- What windows teach about profiles: counts by profile ("coding", "mine@3") and app, and the version that follows from
-- them. Without texts, refs, or ids of contexts and users, so it stays when they go. Keys with bounds see none of it.
CREATE TABLE context.window_learning (
    tenant_id uuid NOT NULL,
    profile text NOT NULL,
    app_id text NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    -- By kinds of lines and by rules for results: how often folds hid them, and how often they were looked up then.
    counts jsonb NOT NULL DEFAULT '{}',
    -- Contexts in which something was looked up.
    context_count integer NOT NULL DEFAULT 0,
    is_frozen boolean NOT NULL DEFAULT false,
    -- The version that windows get, 0: none yet; and the number of contexts that it was learned from.
    version integer NOT NULL DEFAULT 0,
    learned_count integer NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, profile, app_id)
);
SELECT access.policy('context.window_learning', 'tenant', 'bounds:hidden');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.window_learning TO :"service_role";


-- Memories and wiki pages
-- -----------------------

-- Memories: statements about a user, kept across contexts. Each is a document among the passages, in the one scope of
-- its user. Rows repeat the columns that policies read (owner, app, bundle); they never change.
CREATE TABLE context.memory (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    -- The `seq` of its passages in the scope.
    seq bigint NOT NULL,
    happened_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    -- The next newer memory of its key; null: it holds.
    superseded_by uuid,
    confidence double precision NOT NULL,
    quality double precision,
    version integer NOT NULL DEFAULT 1,
    passage_count integer NOT NULL,
    owner_user_id text NOT NULL CHECK (owner_user_id <> ''),
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    created_by text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('fact', 'preference', 'experience', 'observation')),
    -- What it is about; empty: nothing that another memory could supersede.
    key text NOT NULL,
    text text NOT NULL,
    -- Of an experience.
    goal text NOT NULL,
    outcome text NOT NULL,
    -- [{"label": …, "uri": …, "context_id": …, "ref": …}], newest first.
    sources jsonb NOT NULL,
    -- Equal for statements that say the same.
    statement_sha256 bytea NOT NULL,
    imported jsonb,
    PRIMARY KEY (tenant_id, memory_id)
);
CREATE UNIQUE INDEX memory_newest ON context.memory (tenant_id, owner_user_id, seq DESC);
CREATE INDEX memory_key ON context.memory (tenant_id, owner_user_id, app_id, agent_bundle_id, key, happened_at, seq)
    WHERE key <> '';
CREATE INDEX memory_statement ON context.memory (tenant_id, owner_user_id, app_id, agent_bundle_id, statement_sha256);
SELECT access.policy('context.memory', 'tenant', 'subject', 'bounds:user');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.memory TO :"service_role";
CREATE TRIGGER numbered BEFORE INSERT ON context.memory FOR EACH ROW WHEN (NEW.seq IS NULL)
    EXECUTE FUNCTION access.number_row();

-- Writers of memories of a user, an app and an agent bundle take turns at this row, which counts them.
CREATE TABLE context.memory_user (
    tenant_id uuid NOT NULL,
    -- Of all memories of the user: made of the tenant and the user.
    scope_id uuid NOT NULL,
    owner_user_id text NOT NULL CHECK (owner_user_id <> ''),
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    memory_count bigint NOT NULL,
    PRIMARY KEY (tenant_id, owner_user_id, app_id, agent_bundle_id)
) WITH (fillfactor = 50);
CREATE INDEX memory_user_scope ON context.memory_user (tenant_id, scope_id);
SELECT access.policy('context.memory_user', 'tenant', 'subject', 'bounds:user');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.memory_user TO :"service_role";

-- Wiki pages: what agents or people compiled for a user, in versions. There is a header, the versions that are kept,
-- the names that lead to the page, and the memories that its newest version is based on. Rows repeat the columns that
-- policies read (owner, app, bundle); they never change. The newest version is searched as passages, in the scope of
-- the owner's pages, at the version's `seq`.
CREATE TABLE context.wiki_page (
    tenant_id uuid NOT NULL,
    page_id uuid NOT NULL,
    -- The scope of its owner's pages.
    scope_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- When the newest version was written, and when it was confirmed last.
    updated_at timestamptz NOT NULL DEFAULT now(),
    as_of timestamptz NOT NULL DEFAULT now(),
    fresh_until timestamptz,
    version integer NOT NULL,
    slug text NOT NULL,
    title text NOT NULL,
    owner_user_id text NOT NULL CHECK (owner_user_id <> ''),
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    created_by text NOT NULL,
    imported jsonb,
    PRIMARY KEY (tenant_id, page_id)
) WITH (fillfactor = 80);
-- The pages of a user, of all apps.
CREATE INDEX wiki_page_list ON context.wiki_page (tenant_id, owner_user_id, slug COLLATE "C", page_id);
CREATE INDEX wiki_page_scope ON context.wiki_page (tenant_id, scope_id);
SELECT access.policy('context.wiki_page', 'tenant', 'subject', 'bounds:user');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.wiki_page TO :"service_role";

CREATE TABLE context.wiki_page_version (
    tenant_id uuid NOT NULL,
    page_id uuid NOT NULL,
    version integer NOT NULL,
    -- The `seq` of its passages. No two versions share one, so the text at a `seq` never changes.
    seq bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    size_bytes integer NOT NULL,
    passage_count integer NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    created_by text NOT NULL,
    -- Of everything that was put, except how long it is fresh: putting the same again makes no version.
    sha256 bytea NOT NULL,
    title text NOT NULL,
    aliases text[] NOT NULL,
    memory_ids uuid[] NOT NULL,
    -- [[label, uri, id]], as given.
    sources json NOT NULL,
    -- Of its sections: the `part` of a passage is the number of its section.
    headings text[] NOT NULL,
    markdown text NOT NULL,
    imported jsonb,
    PRIMARY KEY (tenant_id, page_id, version)
);
SELECT access.policy('context.wiki_page_version', 'tenant', 'subject', 'bounds:user');
-- A version is written once; erasures rename its author.
GRANT SELECT, INSERT, DELETE ON context.wiki_page_version TO :"service_role";
GRANT UPDATE (created_by, imported) ON context.wiki_page_version TO :"service_role";
CREATE TRIGGER numbered BEFORE INSERT ON context.wiki_page_version FOR EACH ROW WHEN (NEW.seq IS NULL)
    EXECUTE FUNCTION access.number_row();

-- The slug and the aliases, each of which leads to one page of its owner. Includes app and agent bundle: a key bound to
-- others must not learn that such a page exists.
CREATE TABLE context.wiki_page_name (
    tenant_id uuid NOT NULL,
    -- A hash of all parts of the key: names may be longer than an index entry.
    name_id uuid NOT NULL,
    page_id uuid NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    PRIMARY KEY (tenant_id, name_id)
);
CREATE INDEX wiki_page_name_of ON context.wiki_page_name (tenant_id, page_id);
SELECT access.policy('context.wiki_page_name', 'tenant', 'subject', 'bounds:user');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.wiki_page_name TO :"service_role";

-- The memories that the newest version is based on, as they were when the page was put. The row of a deleted memory
-- stays.
CREATE TABLE context.wiki_citation (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    page_id uuid NOT NULL,
    memory_version integer NOT NULL,
    was_superseded boolean NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    PRIMARY KEY (tenant_id, memory_id, page_id)
);
CREATE INDEX wiki_citation_of ON context.wiki_citation (tenant_id, page_id);
SELECT access.policy('context.wiki_citation', 'tenant', 'subject', 'bounds:user');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.wiki_citation TO :"service_role";


-- Knowledge
-- ---------

-- Knowledge bases: documents that are searched together, for the whole tenant or for agents that name them. A document
-- is read in the background, in a process of its own, and searched as passages in the scope of its base, at its `seq`.
-- Rows repeat the columns that policies read (graph, app, bundle of the base); they never change.
CREATE TABLE context.knowledge_base (
    tenant_id uuid NOT NULL,
    -- A part of the scope of its passages, so that a later base with the same name has another scope.
    base_id uuid NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    is_of_tenant boolean NOT NULL,
    version integer NOT NULL DEFAULT 1,
    -- Calls that add or remove documents take turns at this row, which counts the documents and their bytes.
    document_count integer NOT NULL DEFAULT 0,
    size_bytes bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    updated_by text NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    -- A base of Amazon Bedrock, and its region; empty: the documents are ours. Neither changes.
    bedrock_id text NOT NULL DEFAULT '',
    bedrock_region text NOT NULL DEFAULT '',
    imported jsonb,
    PRIMARY KEY (tenant_id, name)
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX knowledge_base_id ON context.knowledge_base (tenant_id, base_id);
SELECT access.policy('context.knowledge_base', 'tenant', 'bounds:graph');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.knowledge_base TO :"service_role";

CREATE TABLE context.knowledge_document (
    tenant_id uuid NOT NULL,
    document_id uuid NOT NULL,
    base_id uuid NOT NULL,
    -- The `seq` of its passages.
    seq bigint NOT NULL,
    -- The record that it follows, and the version that was read; null: none was read, or the document came as bytes.
    record_id uuid,
    record_version integer,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    -- Of the bytes that came with it.
    size_bytes bigint NOT NULL,
    passage_count integer NOT NULL DEFAULT 0,
    is_cut boolean NOT NULL DEFAULT false,
    state text NOT NULL DEFAULT 'QUEUED' CHECK (state IN ('QUEUED', 'PARSING', 'INDEXED', 'FAILED')),
    error text NOT NULL DEFAULT '',
    name text NOT NULL,
    uri text NOT NULL,
    content_type text NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    created_by text NOT NULL,
    -- By `ordinal` of the passages: beginning and end in the text, in characters, and the page; 0: pages are not known.
    starts integer[] NOT NULL DEFAULT '{}',
    ends integer[] NOT NULL DEFAULT '{}',
    pages integer[] NOT NULL DEFAULT '{}',
    -- Of its sections: the `part` of a passage is the number of its section.
    headings text[] NOT NULL DEFAULT '{}',
    -- The text that was read, and where its pages begin; null: not known.
    text text NOT NULL DEFAULT '',
    page_starts integer[] NOT NULL DEFAULT '{}',
    imported jsonb,
    PRIMARY KEY (tenant_id, document_id)
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX knowledge_document_list ON context.knowledge_document (tenant_id, base_id, seq);
-- Documents that are not searched yet, and documents that follow a record: few of many.
CREATE INDEX knowledge_document_unread ON context.knowledge_document (tenant_id, base_id, state)
    WHERE state <> 'INDEXED';
CREATE INDEX knowledge_document_record ON context.knowledge_document (tenant_id, record_id) WHERE record_id IS NOT NULL;
SELECT access.policy('context.knowledge_document', 'tenant', 'bounds:graph');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.knowledge_document TO :"service_role";
CREATE TRIGGER numbered BEFORE INSERT ON context.knowledge_document FOR EACH ROW WHEN (NEW.seq IS NULL)
    EXECUTE FUNCTION access.number_row();

-- The bytes that came with a document, to read it again.
CREATE TABLE context.knowledge_file (
    tenant_id uuid NOT NULL,
    document_id uuid NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    -- Not compressed again: most formats are.
    data bytea STORAGE EXTERNAL NOT NULL,
    PRIMARY KEY (tenant_id, document_id)
);
SELECT access.policy('context.knowledge_file', 'tenant', 'bounds:graph');
-- Bytes are written once.
GRANT SELECT, INSERT, DELETE ON context.knowledge_file TO :"service_role";

-- Definitions of pages, in versions: what a page says about nodes of a type, and who approved it. At most one version
-- of a name is approved.
CREATE TABLE context.definition (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    version integer NOT NULL,
    state text NOT NULL DEFAULT 'DRAFT' CHECK (state IN ('DRAFT', 'APPROVED', 'RETIRED')),
    -- Only keys of this app see its pages; empty: no app.
    app_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    approved_at timestamptz,
    retired_at timestamptz,
    created_by text NOT NULL,
    approved_by text NOT NULL DEFAULT '',
    rules jsonb NOT NULL,
    imported jsonb,
    PRIMARY KEY (tenant_id, name, version)
);
CREATE UNIQUE INDEX definition_approved ON context.definition (tenant_id, name) WHERE state = 'APPROVED';
SELECT access.policy('context.definition', 'tenant', 'bounds:read_app', 'bounds:write');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.definition TO :"service_role";

-- Pages that are compiled of nodes, facet by facet. A page is a view of the graph for the keys with the bounds of the
-- one that compiled it: `audience_id` is made of these bounds. Rows repeat the columns that policies read (graph,
-- bundle, app). Facets are searched as passages in the tenant's scope of facets, at the facet's `seq`.
CREATE TABLE context.compiled_page (
    tenant_id uuid NOT NULL,
    -- Made of the definition, the node and the audience.
    page_id uuid NOT NULL,
    node_id uuid NOT NULL,
    audience_id uuid NOT NULL,
    -- The compile that read its node last, and when.
    compile_id uuid NOT NULL,
    compiled_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    definition_version integer NOT NULL,
    is_unbound boolean NOT NULL,
    definition_name text NOT NULL,
    -- Graph and bundle of its node, and the app of its definition.
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    node_type text NOT NULL,
    title text NOT NULL,
    -- Why it may differ from the graph; empty: no known reason.
    trouble text NOT NULL DEFAULT '',
    aliases text[] NOT NULL,
    -- Of everything that was made of the node: the same is not written again.
    sha256 bytea NOT NULL,
    PRIMARY KEY (tenant_id, page_id)
) WITH (fillfactor = 80);
CREATE INDEX compiled_page_node ON context.compiled_page (tenant_id, node_id);
CREATE INDEX compiled_page_list ON context.compiled_page (tenant_id, definition_name COLLATE "C", page_id);
SELECT access.policy('context.compiled_page', 'tenant', 'bounds:graph');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.compiled_page TO :"service_role";

CREATE TABLE context.facet (
    tenant_id uuid NOT NULL,
    page_id uuid NOT NULL,
    -- The `seq` of its passages.
    seq bigint NOT NULL,
    -- Of a compiled facet.
    compile_id uuid,
    written_at timestamptz NOT NULL DEFAULT now(),
    as_of timestamptz NOT NULL,
    fresh_until timestamptz,
    confidence double precision NOT NULL,
    place integer NOT NULL,
    definition_version integer NOT NULL,
    passage_count integer NOT NULL DEFAULT 0,
    -- A caller put it; otherwise it was compiled.
    is_put boolean NOT NULL,
    is_cut boolean NOT NULL,
    is_declassified boolean NOT NULL,
    slug text NOT NULL,
    heading text NOT NULL,
    kind text NOT NULL,
    put_by text NOT NULL,
    -- A caller who sees it may see everything that was read for it: the bundle is that of all of these nodes, or none
    -- if they have several.
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    bundles text[] NOT NULL,
    -- [[node, version, edge, version]]; of a facet that was put, [[label, uri]].
    sources json NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (tenant_id, page_id, is_put, slug),
    CHECK (is_declassified OR agent_bundle_id = '' OR bundles <@ ARRAY[agent_bundle_id])
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX facet_seq ON context.facet (tenant_id, seq);
SELECT access.policy('context.facet', 'tenant', 'bounds:graph');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.facet TO :"service_role";
CREATE TRIGGER numbered BEFORE INSERT ON context.facet FOR EACH ROW WHEN (NEW.seq IS NULL)
    EXECUTE FUNCTION access.number_row();

-- The nodes that a page was made of, and for which of their changes it is made again, as bits: the node, the edges that
-- leave it, the edges that come to it.
CREATE TABLE context.page_dependency (
    tenant_id uuid NOT NULL,
    node_id uuid NOT NULL,
    page_id uuid NOT NULL,
    bits smallint NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    -- The owner of the node: when that user is erased, the page stops showing it. Null: not known, so it may be
    -- anybody's until the page is compiled again.
    node_owner_id text,
    PRIMARY KEY (tenant_id, node_id, page_id)
);
CREATE INDEX page_dependency_of ON context.page_dependency (tenant_id, page_id);
SELECT access.policy('context.page_dependency', 'tenant', 'bounds:graph');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.page_dependency TO :"service_role";

-- How far compiling is, for the keys with the same bounds, and which compile is running: its transactions check that it
-- still is.
CREATE TABLE context.compile_state (
    tenant_id uuid NOT NULL,
    audience_id uuid NOT NULL,
    compile_id uuid NOT NULL,
    leased_until timestamptz NOT NULL,
    compiled_at timestamptz,
    bounds text NOT NULL DEFAULT coalesce(current_setting('app.bounds', true), ''),
    -- The cursor after which changes are not compiled yet; empty: not known.
    place text NOT NULL DEFAULT '',
    -- By name, the version of the definition that is compiled for all nodes.
    definitions jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant_id, audience_id)
) WITH (fillfactor = 50);
SELECT access.policy('context.compile_state', 'tenant', 'bounds:same');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.compile_state TO :"service_role";


-- Named things of a tenant
-- ------------------------

-- Settings of providers of context query by administrators: whether a provider may be asked, is asked by default, and
-- its deadline.
CREATE TABLE context.provider_setting (
    tenant_id uuid NOT NULL,
    provider_id text NOT NULL,
    -- Fields that are missing are as the provider has them.
    setting jsonb NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    updated_by text NOT NULL,
    imported jsonb,
    PRIMARY KEY (tenant_id, provider_id)
);
SELECT access.policy('context.provider_setting', 'tenant', 'bounds:read', 'bounds:write');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.provider_setting TO :"service_role";

-- Tests of sources that administrators ran: the question and the whole answer, to look at and to compare. The answer
-- belongs to the user on whose behalf it was asked.
CREATE TABLE context.source_test (
    tenant_id uuid NOT NULL,
    test_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    replay_of uuid,
    -- The contexts that were asked: the test is deleted with any of them.
    context_ids uuid[] NOT NULL,
    owner_user_id text NOT NULL,
    created_by text NOT NULL,
    label text NOT NULL,
    warnings text[] NOT NULL,
    -- {"hits": [{"ref": …, "title": …}], "providers": [{"id": …, "state": …, "duration_ms": …, …}], "duration_ms": …}.
    outcome jsonb NOT NULL,
    question bytea NOT NULL,
    answer bytea NOT NULL,
    imported jsonb,
    PRIMARY KEY (tenant_id, test_id)
);
CREATE INDEX source_test_newest ON context.source_test (tenant_id, created_at DESC, test_id DESC);
SELECT access.policy('context.source_test', 'tenant', 'subject', 'bounds:hidden');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.source_test TO :"service_role";

-- Agents and templates of agents: where their files are, which providers they may ask, and who may name them.
CREATE TABLE context.agent (
    tenant_id uuid NOT NULL,
    is_template boolean NOT NULL,
    -- Chosen by the caller; an agent and a template may have the same id.
    agent_id text NOT NULL,
    -- Of an agent, if it has one.
    template_id text NOT NULL DEFAULT '',
    version integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    updated_by text NOT NULL,
    -- Who may name it; null: every caller of the tenant.
    callers jsonb,
    body jsonb NOT NULL,
    imported jsonb,
    PRIMARY KEY (tenant_id, is_template, agent_id)
);
CREATE INDEX agent_of_template ON context.agent (tenant_id, template_id) WHERE template_id <> '';
SELECT access.policy('context.agent', 'tenant', 'bounds:read', 'bounds:write');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.agent TO :"service_role";

-- MCP servers of tenants, and their tools.
CREATE TABLE context.mcp_server (
    tenant_id uuid NOT NULL,
    server_id text COLLATE "C" NOT NULL,
    version integer NOT NULL DEFAULT 1,
    display_name text NOT NULL,
    url text NOT NULL,
    is_disabled boolean NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    updated_by text NOT NULL,
    -- Encrypted with a key that is not in the database, and bound to tenant and server.
    secret bytea,
    -- Which key.
    secret_key_id text NOT NULL DEFAULT '',
    -- The protocol version when its tools were discovered.
    protocol text NOT NULL DEFAULT '',
    discovered_at timestamptz,
    imported jsonb,
    PRIMARY KEY (tenant_id, server_id)
);
SELECT access.policy('context.mcp_server', 'tenant', 'bounds:read', 'bounds:write');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.mcp_server TO :"service_role";

CREATE TABLE context.mcp_tool (
    tenant_id uuid NOT NULL,
    server_id text COLLATE "C" NOT NULL,
    tool_name text COLLATE "C" NOT NULL,
    -- The provider's id in context query.
    provider_id text NOT NULL,
    -- The server's JSON, as text: it may have what jsonb refuses.
    definition text NOT NULL,
    definition_sha256 text NOT NULL,
    is_gone boolean NOT NULL DEFAULT false,
    discovered_at timestamptz NOT NULL,
    -- Of what was approved, the server's address and the definition; empty: not approved.
    approved_sha256 text NOT NULL DEFAULT '',
    approved_by text NOT NULL DEFAULT '',
    approved_at timestamptz,
    search_safe_recorded_by text NOT NULL DEFAULT '',
    is_default boolean NOT NULL DEFAULT false,
    arguments text NOT NULL DEFAULT '',
    imported jsonb,
    PRIMARY KEY (tenant_id, server_id, tool_name),
    FOREIGN KEY (tenant_id, server_id) REFERENCES context.mcp_server (tenant_id, server_id) ON DELETE CASCADE,
    CHECK (approved_sha256 <> '' OR NOT is_default)
);
CREATE UNIQUE INDEX mcp_tool_of_provider ON context.mcp_tool (tenant_id, provider_id);
SELECT access.policy('context.mcp_tool', 'tenant', 'bounds:read', 'bounds:write');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.mcp_tool TO :"service_role";

-- Specialists: providers of context query that search one folder of the workspace in several steps.
CREATE TABLE context.specialist (
    tenant_id uuid NOT NULL,
    specialist_id text COLLATE "C" NOT NULL,
    version integer NOT NULL DEFAULT 1,
    display_name text NOT NULL,
    instructions text NOT NULL,
    -- The folder; empty: not wired.
    node_ids uuid[] NOT NULL,
    steps_max integer NOT NULL,
    is_default boolean NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    updated_by text NOT NULL,
    imported jsonb,
    PRIMARY KEY (tenant_id, specialist_id)
);
SELECT access.policy('context.specialist', 'tenant', 'bounds:read', 'bounds:write');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.specialist TO :"service_role";


-- Operations
-- ----------

-- Work that an operator started over gRPC: it runs in the process that took the call. It concerns all tenants, so
-- functions of the owner do it. They check by themselves that the key is valid and has the scope `operator`.
CREATE TABLE context.job (
    -- Of the operator's key.
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('SWEEP', 'FSCK')),
    state text NOT NULL DEFAULT 'RUNNING' CHECK (state IN ('RUNNING', 'DONE', 'FAILED')),
    started_at timestamptz NOT NULL DEFAULT now(),
    -- When the process last said how far it is; one that stopped saying so is gone.
    updated_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    started_by text NOT NULL,
    error text NOT NULL DEFAULT '',
    -- The options of the call, and the progress.
    options jsonb NOT NULL,
    progress jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant_id, id)
);
SELECT access.policy('context.job', 'tenant', 'bounds:hidden');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.job TO :"service_role";

-- Archives that are being imported: how far each is, so that it continues after a failure, and the conflicts that it
-- met.
CREATE TABLE context.import (
    tenant_id uuid NOT NULL,
    import_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    state text NOT NULL DEFAULT 'RUNNING' CHECK (state IN ('RUNNING', 'DONE', 'GIVEN_UP')),
    imported_by text NOT NULL,
    -- Bytes of the archive that are written.
    offset_bytes bigint NOT NULL DEFAULT 0,
    pieces bigint NOT NULL DEFAULT 0,
    seal bytea NOT NULL DEFAULT '\x',
    manifest jsonb NOT NULL DEFAULT '{}',
    report jsonb NOT NULL DEFAULT '{}',
    -- The context that is being written: its header comes last.
    open_context_id uuid,
    open_context json,
    PRIMARY KEY (tenant_id, import_id)
);
-- Two imports never write the same context.
CREATE UNIQUE INDEX import_open ON context.import (tenant_id, open_context_id) WHERE open_context_id IS NOT NULL;
CREATE INDEX import_age ON context.import (tenant_id, updated_at);
SELECT access.policy('context.import', 'tenant', 'bounds:hidden');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.import TO :"service_role";

-- Receipts of users who are erased: numbers, times and our own ids. While the erasure runs, the row has the user's id;
-- then only a hash is left, by which the erasure can be repeated on a database that was restored from an older backup.
CREATE TABLE context.subject_erasure (
    tenant_id uuid NOT NULL,
    erasure_id uuid NOT NULL,
    -- Null: finished.
    subject text,
    -- Of the subject and the id of the erasure.
    subject_sha256 bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    -- Another replica is at work until this time.
    due_at timestamptz NOT NULL DEFAULT now(),
    -- Counts by kind.
    removed jsonb NOT NULL DEFAULT '{}',
    requested_by text NOT NULL,
    PRIMARY KEY (tenant_id, erasure_id)
);
-- Another call for the same subject is answered with the erasure that runs.
CREATE UNIQUE INDEX subject_erasure_open ON context.subject_erasure (tenant_id, subject) WHERE finished_at IS NULL;
CREATE INDEX subject_erasure_finished ON context.subject_erasure (tenant_id, finished_at);
SELECT access.policy('context.subject_erasure', 'tenant', 'bounds:hidden');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.subject_erasure TO :"service_role";

-- Blobs that an erasure waits for: it finishes when their bytes are gone.
CREATE TABLE context.erased_blob (
    tenant_id uuid NOT NULL,
    erasure_id uuid NOT NULL,
    blob_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, erasure_id, blob_id)
);
SELECT access.policy('context.erased_blob', 'tenant', 'bounds:hidden');
GRANT SELECT, INSERT, DELETE ON context.erased_blob TO :"service_role";

-- Subjects, and contexts with those below them, that must not be erased, and why. A released hold is deleted.
CREATE TABLE context.hold (
    tenant_id uuid NOT NULL,
    hold_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Empty: the hold is on a context.
    subject text NOT NULL,
    context_id uuid,
    reason text NOT NULL,
    created_by text NOT NULL,
    PRIMARY KEY (tenant_id, hold_id),
    CHECK ((subject = '') = (context_id IS NOT NULL))
);
SELECT access.policy('context.hold', 'tenant', 'bounds:hidden');
-- Only the name of the author changes, when that user is erased.
GRANT SELECT, INSERT, DELETE ON context.hold TO :"service_role";
GRANT UPDATE (created_by) ON context.hold TO :"service_role";

-- Return the holds that forbid to delete a context: on the context, one above it, one below it, or an owner of one of
-- these. As the owner: a hold binds also callers who cannot see what it is on.
CREATE FUNCTION context.holds_of(of_context_id uuid) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT h.hold_id
    FROM context.hold h
    JOIN context.context c ON c.tenant_id = h.tenant_id AND c.context_id = of_context_id
    WHERE h.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND (
        h.context_id = ANY (c.ancestors)
        OR (h.subject <> '' AND h.subject = c.owner_user_id)
        OR EXISTS (
            SELECT FROM context.context b
            WHERE b.tenant_id = c.tenant_id AND b.ancestors[1] = c.ancestors[1] AND c.context_id = ANY (b.ancestors)
                AND (b.context_id = h.context_id OR (h.subject <> '' AND h.subject = b.owner_user_id))
        )
    );
END;
REVOKE ALL ON FUNCTION context.holds_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context.holds_of TO :"service_role";

-- Return the background work of the tenants that live here: how much there is, how much has failed and is retried, and
-- since when. A tenant that moved away leaves its rows here for a while; they do not count.
CREATE FUNCTION context.owed_work(asking_id uuid) RETURNS TABLE (
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
REVOKE ALL ON FUNCTION context.owed_work FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context.owed_work TO :"service_role";

-- Retry failed work of a kind now, with all its attempts; at most 10,000 rows. Return how many.
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
REVOKE ALL ON FUNCTION context.retry_work FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context.retry_work TO :"service_role";

-- Return what each of some tenants stores and may store, of those that live here. Null: as the settings say.
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
REVOKE ALL ON FUNCTION context.stored_by FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context.stored_by TO :"service_role";

-- Set the limits that `changed` names; null: as the settings say. Return whether the tenant lives here. For the owner's
-- command, and for the function after it.
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
REVOKE ALL ON FUNCTION context.put_tenant_limits FROM PUBLIC;

-- Set the limits that `changed` names; null: as the settings say. Return whether there is such a tenant. Checks by
-- itself that the key is an operator's.
CREATE FUNCTION context.set_tenant_limits(
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
REVOKE ALL ON FUNCTION context.set_tenant_limits FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context.set_tenant_limits TO :"service_role";

-- Let the tenant's next rows get numbers higher than those that an import brought. Imports keep numbers up to 2^48: the
-- tenant's own numbers stay far below the largest that imports accept, whatever an archive says.
CREATE FUNCTION context.number_behind(of_table text, seq bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF of_table NOT IN ('action', 'knowledge_document', 'memory', 'wiki_page_version', 'wm_record') OR seq > 281474976710656 THEN
        RAISE EXCEPTION 'no number of that table' USING ERRCODE = 'numeric_value_out_of_range';
    END IF;
    PERFORM access.number_behind(nullif(current_setting('app.tenant', true), '')::uuid, seq);
END
$$;
REVOKE ALL ON FUNCTION context.number_behind FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context.number_behind TO :"service_role";
