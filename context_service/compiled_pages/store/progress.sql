-- take
INSERT INTO context.compile_state AS s (tenant_id, audience_id, compile_id, leased_until)
VALUES (%(tenant_id)s, %(audience_id)s, %(compile_id)s, clock_timestamp() + %(lease)s)
ON CONFLICT (tenant_id, audience_id) DO UPDATE
    SET compile_id = excluded.compile_id, leased_until = excluded.leased_until
    WHERE s.leased_until < clock_timestamp()
RETURNING s.place, s.definitions;

-- keep
UPDATE context.compile_state SET leased_until = clock_timestamp() + %(lease)s
WHERE tenant_id = %(tenant_id)s AND audience_id = %(audience_id)s AND compile_id = %(compile_id)s
RETURNING compile_id;

-- save
UPDATE context.compile_state
SET leased_until = clock_timestamp() + %(lease)s, place = %(place)s, definitions = %(definitions)s::jsonb,
    compiled_at = now()
WHERE tenant_id = %(tenant_id)s AND audience_id = %(audience_id)s AND compile_id = %(compile_id)s
RETURNING compile_id;

-- last
SELECT place, compiled_at FROM context.compile_state
WHERE tenant_id = %(tenant_id)s AND audience_id = %(audience_id)s AND compiled_at IS NOT NULL;

-- concerns
-- Whether a change of these nodes, or a new node of these types, changes a page.
SELECT EXISTS (
    SELECT FROM json_to_recordset(%(touched)s::json) n (node_id uuid, bits smallint)
    JOIN context.page_dependency d
        ON d.tenant_id = %(tenant_id)s AND d.node_id = n.node_id AND d.bits & n.bits <> 0
) OR EXISTS (
    SELECT FROM context.definition d
    WHERE d.tenant_id = %(tenant_id)s AND d.state = 'APPROVED' AND d.rules ->> 'node_type' = ANY (%(types)s)
) AS concerns;

-- release
UPDATE context.compile_state SET leased_until = '-infinity'
WHERE tenant_id = %(tenant_id)s AND audience_id = %(audience_id)s AND compile_id = %(compile_id)s;
