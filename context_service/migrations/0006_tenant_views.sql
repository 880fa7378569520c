-- What searches read. Below a policy Postgres uses no index for what is not leakproof (jsonb, LIKE, full text, vectors); a view
-- of the owner's with the policy's condition hides the same rows, and the indexes serve.

CREATE VIEW context.wm_record_of_tenant AS
SELECT tenant_id, id, entity_node_id, blob_id, context_id, created_at, updated_at, expires_at, archived_at, seq, size_bytes,
    version, blob_key, provider, sha256, memory_type, subtype, semantic_purpose, name, description, reasoning, content_type,
    graph_name, agent_bundle_id, app_id, created_by, owner_user_id, agent_id, index_state, index_error, tags, metadata,
    content
FROM context.wm_record
WHERE tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid);

CREATE VIEW context.embedding_of_tenant AS
SELECT tenant_id, owner_kind, owner_id, name, context_id, created_at, dimension, model, text_sha256, vector
FROM context.embedding
WHERE tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid);

GRANT SELECT ON context.wm_record_of_tenant, context.embedding_of_tenant TO :"service_role";

-- What paths into the metadata equal and contain.
CREATE INDEX wm_record_metadata ON context.wm_record USING gin (metadata jsonb_path_ops);
