-- rows
SELECT p.page_id, p.owner_user_id, p.app_id, p.agent_bundle_id, v.seq, v.created_at, v.title, v.aliases, v.markdown
FROM context.wiki_page p
    JOIN context.wiki_page_version v ON v.tenant_id = p.tenant_id AND v.page_id = p.page_id AND v.version = p.version
WHERE p.tenant_id = %(tenant_id)s AND p.scope_id = %(scope_id)s AND v.seq > %(after)s
ORDER BY v.seq
LIMIT %(count)s;
