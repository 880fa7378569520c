-- lock
SELECT server_id, url, secret, protocol, version FROM context.mcp_server
WHERE tenant_id = %s AND server_id = %s FOR UPDATE;

-- target
SELECT url, secret, protocol FROM context.mcp_server WHERE tenant_id = %s AND server_id = %s;

-- tool
SELECT t.server_id, t.tool_name, t.provider_id, t.definition, t.is_gone, t.discovered_at, t.approved_sha256,
    t.approved_by, t.approved_at, t.search_safe_recorded_by, t.is_default, t.arguments, s.display_name, s.url,
    s.is_disabled, s.secret, s.protocol, t.imported::text AS imported_json
FROM context.mcp_tool t
JOIN context.mcp_server s ON s.tenant_id = t.tenant_id AND s.server_id = t.server_id
WHERE t.tenant_id = %(tenant_id)s

-- tools
{{tool}} AND (%(server_id)s = '' OR t.server_id = %(server_id)s)
    AND (t.server_id, t.tool_name) > (%(after_server)s, %(after_tool)s)
ORDER BY t.server_id, t.tool_name LIMIT %(count)s;

-- one
{{tool}} AND t.server_id = %(server_id)s AND t.tool_name = %(tool_name)s;

-- lock_tool
{{one}} FOR UPDATE;

-- of_provider
{{tool}} AND t.provider_id = %(provider_id)s;

-- approved
{{tool}} AND t.approved_sha256 <> '' ORDER BY t.provider_id;

-- found
INSERT INTO context.mcp_tool
    (tenant_id, server_id, tool_name, provider_id, definition, definition_sha256, discovered_at)
SELECT %(tenant_id)s, %(server_id)s, found.name, found.provider_id, found.definition, found.sha256, now()
FROM unnest(%(names)s::text[], %(provider_ids)s::text[], %(definitions)s::text[], %(sha256s)s::text[])
    AS found (name, provider_id, definition, sha256)
ON CONFLICT (tenant_id, server_id, tool_name) DO UPDATE SET definition = EXCLUDED.definition,
    definition_sha256 = EXCLUDED.definition_sha256, is_gone = false, discovered_at = EXCLUDED.discovered_at;

-- gone
-- Approved tools stay visible; tools without approval are deleted.
UPDATE context.mcp_tool SET is_gone = true
WHERE tenant_id = %(tenant_id)s AND server_id = %(server_id)s AND NOT is_gone AND tool_name <> ALL(%(names)s::text[]);

-- forgotten
DELETE FROM context.mcp_tool
WHERE tenant_id = %(tenant_id)s AND server_id = %(server_id)s AND is_gone AND approved_sha256 = '';

-- discovered
UPDATE context.mcp_server SET discovered_at = now(), protocol = %(protocol)s
WHERE tenant_id = %(tenant_id)s AND server_id = %(server_id)s;

-- approve
UPDATE context.mcp_tool SET approved_sha256 = %(approved_sha256)s, approved_by = %(by)s, approved_at = now(),
    search_safe_recorded_by = %(recorded_by)s, is_default = %(is_default)s, arguments = %(arguments)s
WHERE tenant_id = %(tenant_id)s AND server_id = %(server_id)s AND tool_name = %(tool_name)s;

-- unapprove
UPDATE context.mcp_tool SET approved_sha256 = '', approved_by = '', approved_at = NULL, search_safe_recorded_by = '',
    is_default = false, arguments = ''
WHERE tenant_id = %s AND server_id = %s AND tool_name = %s;

-- approved_count
SELECT count(*) AS tools FROM context.mcp_tool WHERE tenant_id = %s AND approved_sha256 <> '';

-- sealed
SELECT server_id, secret FROM context.mcp_server
WHERE tenant_id = %s AND secret IS NOT NULL AND secret_key_id <> %s AND server_id > %s ORDER BY server_id LIMIT 50;

-- sealed_again
UPDATE context.mcp_server SET secret = %s, secret_key_id = %s WHERE tenant_id = %s AND server_id = %s AND secret = %s
RETURNING server_id;
