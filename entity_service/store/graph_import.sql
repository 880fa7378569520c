-- archive
UPDATE entity.node SET is_archived = true WHERE tenant_id = %(tenant_id)s AND id = ANY (%(ids)s::uuid[]);

-- elsewhere
SELECT id::text FROM entity.node
WHERE tenant_id = %(tenant_id)s AND id = ANY (%(ids)s::uuid[]) AND graph_name <> %(graph_name)s;

-- there
SELECT id::text FROM entity.node WHERE tenant_id = %(tenant_id)s AND id = ANY (%(ids)s::uuid[]);

-- write_sides
-- Documents come in a list of one: in a row of a set, JSON's null would become SQL's.
INSERT INTO entity.node_io (tenant_id, node_id, modified_at, context_id, input, output)
SELECT n.tenant_id, n.id, now(), n.context_id, r.input -> 0, r.output -> 0
FROM jsonb_to_recordset(%(rows)s::jsonb) AS r (node_id uuid, input jsonb, output jsonb)
CROSS JOIN LATERAL (
    SELECT n.tenant_id, n.id, n.context_id FROM entity.node n
    WHERE n.tenant_id = %(tenant_id)s AND n.id = r.node_id
    OFFSET 0
) n
ON CONFLICT (tenant_id, node_id) DO UPDATE SET
    input = coalesce(node_io.input, excluded.input), output = coalesce(node_io.output, excluded.output)
WHERE node_io.input IS NULL AND excluded.input IS NOT NULL OR node_io.output IS NULL AND excluded.output IS NOT NULL;

-- dimensions
SELECT r.name, d.dimension
FROM unnest(%(names)s::text[]) AS r (name)
CROSS JOIN LATERAL (
    SELECT e.dimension FROM entity.embedding e
    WHERE e.tenant_id = %(tenant_id)s AND e.graph_name = %(graph_name)s AND e.name = r.name
    LIMIT 1
) d;

-- write_embeddings
INSERT INTO entity.embedding (
    tenant_id, owner_kind, owner_id, name, graph_name, context_id, dimension, model, text_sha256, metadata, vector
)
SELECT
    n.tenant_id, 'node', n.id, r.name, n.graph_name, n.context_id, r.dimension, r.model,
    decode(nullif(r.text_sha256, ''), 'hex'), r.metadata, r.vector::public.halfvec
FROM jsonb_to_recordset(%(rows)s::jsonb) AS r (
    node_id uuid, name text, dimension integer, model text, text_sha256 text, metadata jsonb, vector text
)
CROSS JOIN LATERAL (
    SELECT n.tenant_id, n.id, n.graph_name, n.context_id FROM entity.node n
    WHERE n.tenant_id = %(tenant_id)s AND n.id = r.node_id
    OFFSET 0
) n
ON CONFLICT DO NOTHING
RETURNING owner_id;

-- write_envelopes
-- An existing timeline is continued: envelopes up to the time of its last one were imported before.
INSERT INTO entity.progress (
    tenant_id, node_id, created_at, context_id, type, status, sub_type, message, value, error, created_by
)
SELECT
    n.tenant_id, n.id, r.created_at, n.context_id, r.type, r.status, r.sub_type, r.message, r.value -> 0, r.error -> 0,
    %(created_by)s
FROM ROWS FROM (jsonb_to_recordset(%(rows)s::jsonb) AS (
    node_id uuid, created_at timestamptz, type text, status text, sub_type text, message text, value jsonb, error jsonb
)) WITH ORDINALITY AS r (node_id, created_at, type, status, sub_type, message, value, error, position)
CROSS JOIN LATERAL (
    SELECT
        n.tenant_id, n.id, n.context_id, (
            SELECT p.created_at FROM entity.progress p
            WHERE p.tenant_id = %(tenant_id)s AND p.node_id = n.id
            ORDER BY p.seq DESC
            LIMIT 1
        ) AS last_at
    FROM entity.node n
    WHERE n.tenant_id = %(tenant_id)s AND n.id = r.node_id
    OFFSET 0
) n
WHERE n.last_at IS NULL OR r.created_at > n.last_at
ORDER BY r.position
RETURNING node_id;
