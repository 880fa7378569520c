-- make_key
SELECT access.make_key(
    %(asking_id)s, %(id)s, %(sha256)s, %(prefix)s, %(subject)s, %(scopes)s::text[], %(user_id)s, %(agent_id)s,
    %(app_ids)s::text[], %(agent_bundle_id)s, %(graph_names)s::text[], now() + %(lifetime)s::interval
) AS made;

-- list_keys
SELECT id, prefix, subject, scopes, user_id, agent_id, app_ids, agent_bundle_id, graph_names, context_id, made_by,
    created_at, expires_at, revoked_at, last_used_at
FROM access.list_keys(%(context_id)s, %(before_id)s, %(count)s);

-- of_caller
SELECT tenant, prefix, expires_at FROM access.key_of_caller(%(key_id)s);

-- revoke_key
SELECT access.revoke_key(%(asking_id)s, %(prefix)s) AS found;

-- make_context_key
SELECT access.make_context_key(
    %(asking_id)s, %(id)s, %(sha256)s, %(prefix)s, %(context_id)s, %(subject)s, %(scopes)s::text[], %(agent_id)s,
    %(lifetime)s, %(ends_at)s::timestamptz
) AS expires_at;

-- end_context_keys
SELECT access.end_context_keys(%(context_id)s) AS ended;
