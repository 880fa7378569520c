-- any
EXISTS (SELECT FROM context.facet WHERE tenant_id = %(tenant_id)s)

-- tenants_count
-- All facets of a tenant are in one scope.
SELECT {{any}}::integer;

-- tenants_page
SELECT %(scope_of_tenant)s::uuid, '' AS user_id
WHERE {{any}} AND %(scope_of_tenant)s::uuid > %(after)s
    AND (%(only)s::uuid IS NULL OR %(scope_of_tenant)s::uuid = %(only)s)
LIMIT %(count)s;

-- tenants_owned
SELECT %(scope_of_tenant)s::uuid WHERE {{any}} AND %(scope_of_tenant)s::uuid = ANY (%(ids)s);

-- rows
SELECT f.seq, f.page_id, f.written_at, f.heading, f.text, f.graph_name, f.agent_bundle_id, f.app_id, p.title, p.aliases
FROM context.facet f
    JOIN context.compiled_page p ON p.tenant_id = f.tenant_id AND p.page_id = f.page_id
WHERE f.tenant_id = %(tenant_id)s AND f.seq > %(after)s
ORDER BY f.seq
LIMIT %(count)s;
