-- columns
-- The columns of `Embedding`, in its order, of a table named e.
e.owner_id::text, e.name, e.dimension, e.model, coalesce(encode(e.text_sha256, 'hex'), ''), e.metadata::text,
(extract(epoch FROM e.created_at) * 1000000)::bigint

-- upsert
-- One of the other vectors of the name tells the dimension of all. FOR KEY SHARE: a node that another call is deleting
-- is waited for and then not found, so that no vector outlives its node.
WITH there AS (
    SELECT
        n.id, n.graph_name, n.context_id, (
            SELECT o.dimension
            FROM entity.embedding o
            WHERE o.tenant_id = %(tenant_id)s AND o.graph_name = n.graph_name AND o.name = %(name)s
                AND o.owner_kind = 'node' AND o.owner_id <> n.id
            LIMIT 1
        ) AS dimension
    FROM entity.node n
    WHERE n.tenant_id = %(tenant_id)s AND n.id = %(node_id)s
    FOR KEY SHARE
), written AS (
    INSERT INTO entity.embedding AS e (
        tenant_id, owner_kind, owner_id, name, graph_name, context_id, created_at, dimension, model, text_sha256,
        metadata, vector
    )
    SELECT
        %(tenant_id)s, 'node', t.id, %(name)s, t.graph_name, t.context_id, clock_timestamp(), %(dimension)s,
        %(model)s, decode(nullif(%(text_sha256)s, ''), 'hex'), %(metadata)s::jsonb, %(vector)s::public.halfvec
    FROM there t
    WHERE coalesce(t.dimension = %(dimension)s, true)
    ON CONFLICT (tenant_id, owner_kind, owner_id, name) DO UPDATE SET
        created_at = greatest(excluded.created_at, e.created_at), dimension = excluded.dimension,
        model = excluded.model, text_sha256 = excluded.text_sha256, metadata = excluded.metadata,
        vector = excluded.vector
    RETURNING {{columns}}
)
SELECT t.dimension AS wanted, t.graph_name AS graph_name, w.*
FROM there t
LEFT JOIN written w ON true;

-- delete
WITH gone AS (
    DELETE FROM entity.embedding
    WHERE tenant_id = %(tenant_id)s AND owner_kind = 'node' AND owner_id = %(node_id)s AND name = %(name)s
    RETURNING name
)
SELECT
    EXISTS (SELECT FROM entity.node WHERE tenant_id = %(tenant_id)s AND id = %(node_id)s) AS there,
    EXISTS (SELECT FROM gone) AS gone;

-- list
-- There is one row at least, if there is the node.
SELECT e.found, e.vector, {{columns}}
FROM entity.node n
LEFT JOIN LATERAL (
    SELECT
        count(*) OVER () AS found,
        sum(e.dimension * {{float_bytes}} * %(vectors)s + entity.document_bytes(e.metadata)) OVER (
            ORDER BY e.name ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS bytes_before,
        CASE WHEN %(vectors)s > 0 THEN e.vector END AS vector,
        e.owner_id, e.name, e.dimension, e.model, e.text_sha256, e.metadata, e.created_at
    FROM (
        SELECT e.owner_id, e.name, e.dimension, e.model, e.text_sha256, e.metadata, e.created_at, e.vector
        FROM entity.embedding e
        WHERE e.tenant_id = %(tenant_id)s AND e.owner_kind = 'node' AND e.owner_id = n.id
            AND (%(first)s OR e.name > %(after_name)s)
        ORDER BY e.name
        LIMIT %(rows)s
    ) e
) e ON coalesce(e.bytes_before, 0) < %(bytes_max)s
WHERE n.tenant_id = %(tenant_id)s AND n.id = %(node_id)s
ORDER BY e.name;

-- vector
SELECT n.graph_name, n.context_id::text AS context_id, e.dimension, e.vector
FROM entity.node n
LEFT JOIN entity.embedding e
    ON e.tenant_id = n.tenant_id AND e.owner_kind = 'node' AND e.owner_id = n.id AND e.name = %(name)s
WHERE n.tenant_id = %(tenant_id)s AND n.id = %(node_id)s;

-- nearest
-- All distances of a slice, and then the nearest: exact. MATERIALIZED, so that no planner takes an index that finds
-- most of the nearest instead. Nodes are looked up from the nearest on, until there are enough, so that their filters
-- cost nothing for the rest. No more documents than may be answered are read; `found` says whether that left any out.
WITH slice AS MATERIALIZED (
    SELECT e.owner_id, e.vector OPERATOR(public.<=>) %(vector)s::public.halfvec AS distance
    FROM entity.embedding e
    WHERE e.tenant_id = %(tenant_id)s AND e.graph_name = %(graph_name)s AND e.name = %(name)s
        AND e.owner_kind = 'node' AND e.dimension = %(dimension)s
        AND (%(metadata)s::jsonb IS NULL OR e.metadata @> %(metadata)s::jsonb)
        AND (%(without_id)s::uuid IS NULL OR e.owner_id <> %(without_id)s::uuid)
        AND (%(context_id)s::uuid IS NULL OR e.context_id = %(context_id)s::uuid)
    LIMIT %(vectors_max)s + 1
), nearest AS (
    SELECT s.distance, n.*
    FROM (
        SELECT s.owner_id, s.distance FROM slice s WHERE s.distance <= %(distance_max)s ORDER BY s.distance, s.owner_id
    ) s
    CROSS JOIN LATERAL (
        SELECT n.*
        FROM entity.node n
        WHERE n.tenant_id = %(tenant_id)s AND n.id = s.owner_id
            AND {{nodes.node_is_wanted}}
        OFFSET 0
    ) n
    ORDER BY s.distance, s.owner_id
    LIMIT %(rows)s
), sized AS (
    SELECT
        n.*, count(*) OVER () AS found,
        sum(entity.document_bytes(n.data)) OVER (
            ORDER BY n.distance, n.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS bytes_before
    FROM nearest n
)
SELECT (SELECT count(*) FROM slice), n.found, 1 - n.distance, {{nodes.node_columns}}
FROM (VALUES (1)) AS one
LEFT JOIN sized n ON coalesce(n.bytes_before, 0) < 4 * %(bytes_max)s
ORDER BY n.distance, n.id;

-- dimension
SELECT e.dimension
FROM entity.embedding e
WHERE e.tenant_id = %(tenant_id)s AND e.graph_name = %(graph_name)s AND e.name = %(name)s AND e.owner_kind = 'node'
LIMIT 1;
