-- Records are found by the terms of the product's analyzer (`working_memory/pure/record_terms.py`), as all other texts are.
-- The service writes them with each record. Rows of older versions have none until `context-service retrieval rebuild`.
ALTER TABLE context.wm_record ADD COLUMN terms integer[];
-- The version of the analyzer that made `terms`; 0: none has.
ALTER TABLE context.wm_record ADD COLUMN terms_version smallint NOT NULL DEFAULT 0;

-- Searches and lists of records have no files of contexts.
DROP VIEW context.wm_record_of_tenant;
SELECT access.policy_view('context.wm_record_of_tenant', $$
    SELECT tenant_id, id, entity_node_id, blob_id, context_id, created_at, updated_at, expires_at, archived_at, seq, size_bytes,
        version, blob_key, provider, sha256, memory_type, subtype, semantic_purpose, name, description, reasoning, content_type,
        graph_name, agent_bundle_id, app_id, created_by, owner_user_id, agent_id, index_state, index_error, tags, metadata,
        content, terms, is_visible
    FROM (
        SELECT tenant_id, id, entity_node_id, blob_id, context_id, created_at, updated_at, expires_at, archived_at, seq,
            size_bytes, version, blob_key, provider, sha256, memory_type, subtype, semantic_purpose, name, description,
            reasoning, content_type, graph_name, agent_bundle_id, app_id, created_by, owner_user_id, agent_id, index_state,
            index_error, tags, metadata, content, terms,
            {tenant} AND {bounds:graph} AND context_id IS NULL AS is_visible
        FROM context.wm_record
    ) r
    WHERE is_visible
$$);
GRANT SELECT ON context.wm_record_of_tenant TO :"service_role";

-- Words and phrases in the forms of a language of Postgres, which found records before.
DROP TRIGGER keep_search_of_new ON context.wm_record;
DROP TRIGGER keep_search_of_changed ON context.wm_record;
ALTER TABLE context.wm_record DROP COLUMN search, DROP COLUMN name_search, DROP COLUMN search_language;
DROP FUNCTION context.keep_search();
DROP FUNCTION context.search_of(uuid, text, text, text, json, text);
DROP FUNCTION context.name_search_of(uuid, text);
DROP FUNCTION context.beginning_of_texts(json, integer);
DROP FUNCTION context.search_asked(text, text[], boolean[], boolean[]);
DROP FUNCTION context.words_asked(text, text);
DROP FUNCTION context.words_of(text, text);
DROP FUNCTION context.pairs_of(text);
DROP FUNCTION context.with_words(tsvector, tsvector);
DROP FUNCTION context.spaced(text);
DROP FUNCTION context.paired_letters();

-- New entries that are not merged yet are searched one by one, so their list is kept short.
CREATE INDEX wm_record_terms ON context.wm_record USING gin (terms) WITH (gin_pending_list_limit = 512)
    WHERE terms IS NOT NULL;
CREATE INDEX wm_record_unindexed ON context.wm_record (tenant_id, id) WHERE terms_version = 0 AND context_id IS NULL;

-- Whether terms follow each other. No input raises an error.
CREATE FUNCTION context.stand_together(terms integer[], phrase integer[]) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN EXISTS (
    SELECT FROM unnest(array_positions(terms, phrase[1])) place
    WHERE terms[place : place + cardinality(phrase) - 1] = phrase
);
