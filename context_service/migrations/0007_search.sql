-- What records are found by: words, names, and vectors within a slice.

-- The texts and numbers of a document that is too long to be searched as a whole.
CREATE FUNCTION context.beginning_of_texts(content json, chars_max integer) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT left(string_agg(found.value #>> '{}', ' '), chars_max)
    FROM jsonb_path_query(content::jsonb, 'strict $.** ? (@.type() == "string" || @.type() == "number")') found (value)
);

-- The tenant is a word like the others, one that no text can hold: an inverted index takes no uuid beside the words, and
-- would read what all tenants have of a word. A vector of words has a largest size (1 MiB), and must not be why a record is
-- refused: of long contents only the beginning is searched.
CREATE FUNCTION context.search_of(tenant_id uuid, name text, description text, content json) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN array_to_tsvector(ARRAY['tenant ' || tenant_id::text])
    || setweight(to_tsvector('pg_catalog.english', regexp_replace(left(name, 5000), '[[:punct:]]+', ' ', 'g')), 'A')
    || setweight(to_tsvector('pg_catalog.english', description), 'B')
    || CASE
        WHEN content IS NULL THEN ''::tsvector
        WHEN octet_length(content::text) <= 50000
            THEN json_to_tsvector('pg_catalog.english', content, '["string", "numeric"]')
        ELSE to_tsvector('pg_catalog.english', coalesce(context.beginning_of_texts(content, 50000), ''))
    END;

-- The words of a name as they are, for beginnings of them.
CREATE FUNCTION context.name_search_of(tenant_id uuid, name text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN array_to_tsvector(ARRAY['tenant ' || tenant_id::text])
    || to_tsvector('pg_catalog.simple', regexp_replace(left(name, 5000), '[[:punct:]]+', ' ', 'g'));

ALTER TABLE context.wm_record
    ADD COLUMN search tsvector
        GENERATED ALWAYS AS (context.search_of(tenant_id, name, description, content)) STORED,
    ADD COLUMN name_search tsvector GENERATED ALWAYS AS (context.name_search_of(tenant_id, name)) STORED;
-- What was inserted since the last clean-up is searched one by one; it shall not be much.
CREATE INDEX wm_record_search ON context.wm_record USING gin (search) WITH (gin_pending_list_limit = 512);
CREATE INDEX wm_record_name_search ON context.wm_record USING gin (name_search) WITH (gin_pending_list_limit = 512);

CREATE OR REPLACE VIEW context.wm_record_of_tenant AS
SELECT tenant_id, id, entity_node_id, blob_id, context_id, created_at, updated_at, expires_at, archived_at, seq, size_bytes,
    version, blob_key, provider, sha256, memory_type, subtype, semantic_purpose, name, description, reasoning, content_type,
    graph_name, agent_bundle_id, app_id, created_by, owner_user_id, agent_id, index_state, index_error, tags, metadata,
    content, search, name_search
FROM context.wm_record
WHERE tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid);

-- What slices of vectors are cut by stands beside the vectors: reading ten thousand records to find their vectors costs more
-- than comparing these.
ALTER TABLE context.embedding
    ADD COLUMN entity_node_id uuid,
    -- From then on the record is archived or expired.
    ADD COLUMN hidden_at timestamptz,
    ADD COLUMN memory_type text NOT NULL DEFAULT '',
    ADD COLUMN graph_name text NOT NULL DEFAULT 'default',
    ADD COLUMN agent_bundle_id text NOT NULL DEFAULT '',
    ADD COLUMN app_id text NOT NULL DEFAULT '';
UPDATE context.embedding e
SET entity_node_id = r.entity_node_id, hidden_at = least(r.archived_at, r.expires_at), memory_type = r.memory_type,
    graph_name = r.graph_name, agent_bundle_id = r.agent_bundle_id, app_id = r.app_id
FROM context.wm_record r
WHERE r.tenant_id = e.tenant_id AND r.id = e.owner_id AND e.owner_kind = 'record';
CREATE INDEX embedding_entity ON context.embedding (tenant_id, entity_node_id);
CREATE INDEX embedding_memory_type ON context.embedding (tenant_id, memory_type);
CREATE INDEX embedding_graph ON context.embedding (tenant_id, graph_name);
CREATE INDEX embedding_agent_bundle ON context.embedding (tenant_id, agent_bundle_id);
CREATE INDEX embedding_app ON context.embedding (tenant_id, app_id);

CREATE OR REPLACE VIEW context.embedding_of_tenant AS
SELECT tenant_id, owner_kind, owner_id, name, context_id, created_at, dimension, model, text_sha256, vector, entity_node_id,
    hidden_at, memory_type, graph_name, agent_bundle_id, app_id
FROM context.embedding
WHERE tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid);

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
-- Whoever changes a record, its vector follows.
CREATE TRIGGER move_embedding AFTER UPDATE ON context.wm_record FOR EACH ROW
WHEN (
    (OLD.entity_node_id, least(OLD.archived_at, OLD.expires_at), OLD.memory_type, OLD.graph_name, OLD.agent_bundle_id,
        OLD.app_id)
    IS DISTINCT FROM
    (NEW.entity_node_id, least(NEW.archived_at, NEW.expires_at), NEW.memory_type, NEW.graph_name, NEW.agent_bundle_id,
        NEW.app_id)
)
EXECUTE FUNCTION context.move_embedding();
