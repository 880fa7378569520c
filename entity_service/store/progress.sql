-- append_status
INSERT INTO entity.progress (tenant_id, node_id, created_at, context_id, type, status, message, value, created_by)
VALUES (
    %(tenant_id)s, %(node_id)s, clock_timestamp(), %(context_id)s, 'STATUS', %(status)s, %(message)s, %(value)s,
    %(created_by)s
);

-- append
-- One statement: an existing request id makes Postgres refuse all of it. FOR KEY SHARE: a node that another
-- call is deleting is waited for and then not found.
WITH envelope AS (
    INSERT INTO entity.progress (
        tenant_id, node_id, created_at, context_id, type, status, sub_type, message, value, error, created_by
    )
    SELECT
        n.tenant_id, n.id, clock_timestamp(), n.context_id, %(type)s, %(status)s, %(sub_type)s, %(message)s,
        %(value)s::jsonb, %(error)s::jsonb, %(created_by)s
    FROM entity.node n
    WHERE n.tenant_id = %(tenant_id)s AND n.id = %(node_id)s
    FOR KEY SHARE
    RETURNING seq, (extract(epoch FROM created_at) * 1000000)::bigint AS created_at
), answered AS (
    INSERT INTO entity.request (tenant_id, request_id, rpc, fingerprint, answer)
    SELECT
        %(tenant_id)s, %(request_key)s, %(rpc)s, %(fingerprint)s, jsonb_build_array(e.seq, e.created_at)
    FROM envelope e
    WHERE %(request_key)s::uuid IS NOT NULL
)
SELECT seq, created_at FROM envelope;

-- list_of(direction, beyond)
-- A page of the envelopes of a node and of the nodes that it calls, each once: UNION leaves out nodes that were reached
-- before, so cycles end. The context is that of the start: called nodes must be in it, too. Each node's envelopes come
-- in order off the primary key, no more of them than the page holds. There is one row at least, for the counts. Ends
-- are compared as ranges, as in `traversal`: equalities read the whole table for each node, where most edges have one
-- end.
WITH RECURSIVE called (id, context_id) AS (
    SELECT n.id, n.context_id FROM entity.node n WHERE n.tenant_id = %(tenant_id)s AND n.id = %(node_id)s
    UNION
    SELECT n.id, c.context_id
    FROM called c
    CROSS JOIN LATERAL (
        SELECT e.to_node_id
        FROM entity.edge e
        WHERE NOT %(own_only)s AND e.tenant_id = %(tenant_id)s AND e.from_node_id >= c.id AND e.from_node_id <= c.id
            AND (e.from_node_id, e.edge_type) >= (c.id, 'Calls') AND (e.from_node_id, e.edge_type) <= (c.id, 'Calls')
        OFFSET 0
    ) e
    CROSS JOIN LATERAL (
        SELECT n.id
        FROM entity.node n
        WHERE n.tenant_id = %(tenant_id)s AND n.id = e.to_node_id
            AND (c.context_id IS NULL OR n.context_id = c.context_id)
        OFFSET 0
    ) n
), reached AS (
    SELECT id FROM called LIMIT %(nodes_max)s + 1
), found AS (
    SELECT p.node_id, p.seq, p.type, p.status, p.sub_type, p.message, p.value, p.error, p.created_at, p.created_by
    FROM reached r
    CROSS JOIN LATERAL (
        SELECT p.node_id, p.seq, p.type, p.status, p.sub_type, p.message, p.value, p.error, p.created_at, p.created_by
        FROM entity.progress p
        WHERE p.tenant_id = %(tenant_id)s AND p.node_id = r.id AND p.seq {{beyond}} %(after_seq)s
            AND (%(all_types)s OR p.type = ANY (%(types)s::text[]))
        ORDER BY p.seq {{direction}}
        LIMIT %(rows)s
    ) p
    ORDER BY p.seq {{direction}}
    LIMIT %(rows)s
), sized AS (
    SELECT
        f.*,
        sum(
            octet_length(f.message) + coalesce(entity.document_bytes(f.value), 0)
                + coalesce(entity.document_bytes(f.error), 0)
        ) OVER (ORDER BY f.seq {{direction}} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
    FROM found f
)
SELECT
    (SELECT count(*) FROM reached), (SELECT count(*) FROM found),
    s.node_id::text, s.seq, s.type, s.status, s.sub_type, s.message, s.value::text, s.error::text,
    (extract(epoch FROM s.created_at) * 1000000)::bigint, s.created_by
FROM (VALUES (1)) AS one
LEFT JOIN sized s ON coalesce(s.bytes_before, 0) < %(bytes_max)s
ORDER BY s.seq {{direction}}

-- list
{{list_of(ASC, >)}};

-- list_descending
-- The same page from the other end.
{{list_of(DESC, <)}};

-- clear
WITH gone AS (
    DELETE FROM entity.progress WHERE tenant_id = %(tenant_id)s AND node_id = %(node_id)s RETURNING seq
)
SELECT
    (SELECT count(*) FROM gone) AS count,
    EXISTS (SELECT FROM entity.node WHERE tenant_id = %(tenant_id)s AND id = %(node_id)s) AS there;
