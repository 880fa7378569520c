-- count(table)
SELECT count(DISTINCT scope_id) FROM {{table}} WHERE tenant_id = %(tenant_id)s;

-- page(table)
SELECT DISTINCT scope_id, owner_user_id
FROM {{table}}
WHERE tenant_id = %(tenant_id)s AND scope_id > %(after)s
    AND (%(only)s::uuid IS NULL OR scope_id = %(only)s)
ORDER BY scope_id
LIMIT %(count)s;

-- owned(table)
SELECT DISTINCT scope_id FROM {{table}} WHERE tenant_id = %(tenant_id)s AND scope_id = ANY (%(ids)s);
