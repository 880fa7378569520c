-- The scope `context:read`: to ask context query, and nothing else. `read` includes it, and so gives it on.
ALTER TABLE access.api_key
    DROP CONSTRAINT api_key_scopes_check,
    ADD CONSTRAINT api_key_scopes_check
        CHECK (scopes <@ ARRAY['read', 'write', 'admin', 'delegate', 'context:read'] AND cardinality(scopes) > 0);

CREATE OR REPLACE FUNCTION access.is_within(part access.reach, whole access.reach) RETURNS boolean
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
