-- set
-- A side that is not given is SQL's null, and stays. The clock as in `changes`. FOR KEY SHARE: a node that another call
-- is deleting is waited for and then not found, instead of breaking the foreign key.
INSERT INTO entity.node_io (tenant_id, node_id, modified_at, context_id, input, output)
SELECT n.tenant_id, n.id, clock_timestamp(), n.context_id, %(input)s::jsonb, %(output)s::jsonb
FROM entity.node n
WHERE n.tenant_id = %(tenant_id)s AND n.id = %(id)s
FOR KEY SHARE
ON CONFLICT (tenant_id, node_id) DO UPDATE SET
    input = coalesce(excluded.input, node_io.input),
    output = coalesce(excluded.output, node_io.output),
    modified_at = greatest(clock_timestamp(), node_io.modified_at)
RETURNING (extract(epoch FROM modified_at) * 1000000)::bigint;

-- get
-- A row without values is a node without input and output.
SELECT io.input::text, io.output::text, (extract(epoch FROM io.modified_at) * 1000000)::bigint
FROM entity.node n
LEFT JOIN entity.node_io io ON io.tenant_id = n.tenant_id AND io.node_id = n.id
WHERE n.tenant_id = %(tenant_id)s AND n.id = %(id)s;

-- clear_output
UPDATE entity.node_io
SET output = NULL, modified_at = greatest(clock_timestamp(), modified_at)
WHERE tenant_id = %(tenant_id)s AND node_id = %(id)s AND output IS NOT NULL
RETURNING node_id;
