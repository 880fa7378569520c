-- places
SELECT r.seq
FROM context.message_record r
WHERE r.tenant_id = %(tenant_id)s AND r.context_id = %(context_id)s AND r.entity_node_id = ANY (%(node_ids)s)
UNION
-- In any collation, ids with the prefix sort before prefix + "z"; other ids in that range lack the prefix.
SELECT m.seq
FROM unnest(%(prefixes)s::text[]) p (prefix)
    JOIN context.message m ON m.tenant_id = %(tenant_id)s AND m.context_id = %(context_id)s
        AND m.message_id >= p.prefix AND m.message_id < p.prefix || 'z' AND starts_with(m.message_id, p.prefix);
