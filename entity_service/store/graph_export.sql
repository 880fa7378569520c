-- begin
-- The last row written before this statement, and the transactions that had begun by then.
SELECT
    (
        SELECT coalesce(max(n.seq), 0) FROM entity.node n
        WHERE n.tenant_id = %(tenant_id)s AND n.graph_name = %(graph_name)s
    ) AS seq_max,
    pg_snapshot_xmax(pg_current_snapshot())::text AS transaction_id;

-- settled
SELECT pg_snapshot_xmin(pg_current_snapshot()) >= %(transaction_id)s::text::xid8 AS settled;

-- nodes
-- Each kind: a page after a key. A page is cut by rows first and then by the size of its documents.
SELECT
    n.looked_at, n.created_micros, n.seq,
    n.id::text, n.external_id, n.agent_bundle_id, n.general_type_name, n.specific_type_name, n.name, n.status,
    n.is_archived, n.created_micros, n.data::text, n.owner_user_id, n.input::text, n.output::text
FROM (
    SELECT
        n.*, count(*) OVER () AS looked_at, (extract(epoch FROM n.created_at) * 1000000)::bigint AS created_micros,
        sum(
            entity.document_bytes(n.data) + coalesce(entity.document_bytes(n.input), 0)
                + coalesce(entity.document_bytes(n.output), 0)
        ) OVER (ORDER BY n.created_at, n.seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
    FROM (
        SELECT
            n.id, n.external_id, n.agent_bundle_id, n.general_type_name, n.specific_type_name, n.name, n.status,
            n.is_archived, n.created_at, n.seq, n.data, n.owner_user_id, io.input, io.output
        FROM (
            SELECT
                n.id, n.external_id, n.agent_bundle_id, n.general_type_name, n.specific_type_name, n.name, n.status,
                n.is_archived, n.created_at, n.seq, n.data, n.owner_user_id
            FROM entity.node n
            WHERE n.tenant_id = %(tenant_id)s AND n.graph_name = %(graph_name)s AND n.seq <= %(seq_max)s
                AND (n.created_at, n.seq) > (%(after_at)s::timestamptz, %(after_seq)s::bigint)
            ORDER BY n.created_at, n.seq
            LIMIT %(rows)s
        ) n
        LEFT JOIN LATERAL (
            SELECT io.input, io.output FROM entity.node_io io
            WHERE io.tenant_id = %(tenant_id)s AND io.node_id = n.id
            OFFSET 0
        ) io ON true
    ) n
) n
WHERE coalesce(n.bytes_before, 0) < %(bytes_max)s
ORDER BY n.created_at, n.seq;

-- embeddings
SELECT
    count(*) OVER (), e.owner_id::text, e.name,
    e.owner_id::text, e.name, e.model, coalesce(encode(e.text_sha256, 'hex'), ''), e.metadata::text, e.vector::text
FROM (
    SELECT e.owner_id, e.name, e.model, e.text_sha256, e.metadata, e.vector
    FROM entity.embedding e
    CROSS JOIN LATERAL (
        SELECT n.seq FROM entity.node n WHERE n.tenant_id = %(tenant_id)s AND n.id = e.owner_id OFFSET 0
    ) n
    WHERE e.tenant_id = %(tenant_id)s AND e.owner_kind = 'node' AND e.graph_name = %(graph_name)s
        AND (e.owner_id, e.name) > (%(after_id)s::uuid, %(after_name)s::text) AND n.seq <= %(seq_max)s
    ORDER BY e.owner_id, e.name
    LIMIT %(rows)s
) e
ORDER BY e.owner_id, e.name;

-- envelopes
-- A number of nodes, in their order, and a number of their envelopes. The last row says how far it came.
WITH looked_at AS (
    SELECT n.id, n.created_at, n.seq
    FROM entity.node n
    WHERE n.tenant_id = %(tenant_id)s AND n.graph_name = %(graph_name)s AND n.seq <= %(seq_max)s
        AND (n.created_at, n.seq) >= (%(after_at)s::timestamptz, %(after_seq)s::bigint)
    ORDER BY n.created_at, n.seq
    LIMIT %(scanned_rows)s
), found AS (
    SELECT
        n.created_at AS node_created_at, n.seq AS node_seq, p.seq AS envelope_seq, n.id, p.type, p.status, p.sub_type,
        p.message, p.created_at, p.error, p.value
    FROM looked_at n
    CROSS JOIN LATERAL (
        SELECT p.seq, p.type, p.status, p.sub_type, p.message, p.created_at, p.error, p.value
        FROM entity.progress p
        WHERE p.tenant_id = %(tenant_id)s AND p.node_id = n.id
            AND (n.seq <> %(after_seq)s::bigint OR p.seq > %(after_envelope)s::bigint)
        ORDER BY p.seq
        LIMIT %(rows)s
    ) p
    ORDER BY n.created_at, n.seq, p.seq
    LIMIT %(rows)s
), sized AS (
    SELECT
        f.*,
        sum(
            octet_length(f.message) + coalesce(entity.document_bytes(f.value), 0)
                + coalesce(entity.document_bytes(f.error), 0)
        ) OVER (
            ORDER BY f.node_created_at, f.node_seq, f.envelope_seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS bytes_before
    FROM found f
), page AS (
    SELECT * FROM sized s WHERE coalesce(s.bytes_before, 0) < %(bytes_max)s
)
SELECT
    false, (extract(epoch FROM p.node_created_at) * 1000000)::bigint, p.node_seq, p.envelope_seq,
    p.id::text, p.type, p.status, p.sub_type, p.message, (extract(epoch FROM p.created_at) * 1000000)::bigint,
    p.error::text, p.value::text
FROM page p
UNION ALL
SELECT
    true, (extract(epoch FROM n.created_at) * 1000000)::bigint, n.seq, 9223372036854775807,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM (SELECT l.created_at, l.seq FROM looked_at l ORDER BY l.created_at DESC, l.seq DESC LIMIT 1) n
WHERE (SELECT count(*) FROM page) = (SELECT count(*) FROM found) AND (SELECT count(*) FROM found) < %(rows)s
ORDER BY 2, 3, 4;

-- edges
-- Planned for its values: where a tenant has many graphs, they are looked up by graph and sorted, and where it has one,
-- they are read in the order of their ids.
SELECT
    count(*) OVER (), e.id::text, '',
    e.id::text, e.from_node_id::text, e.to_node_id::text, e.edge_type,
    (extract(epoch FROM e.created_at) * 1000000)::bigint, e.data::text
FROM (
    SELECT
        e.*, sum(entity.document_bytes(e.data)) OVER (
            ORDER BY e.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS bytes_before
    FROM (
        SELECT e.id, e.from_node_id, e.to_node_id, e.edge_type, e.created_at, e.data
        FROM entity.edge e
        CROSS JOIN LATERAL (
            SELECT n.seq FROM entity.node n WHERE n.tenant_id = %(tenant_id)s AND n.id = e.from_node_id OFFSET 0
        ) n
        WHERE e.tenant_id = %(tenant_id)s AND e.graph_name = %(graph_name)s AND e.id > %(after_id)s::uuid
            AND e.child_seq <= %(seq_max)s AND n.seq <= %(seq_max)s
        ORDER BY e.id
        LIMIT %(rows)s
    ) e
) e
WHERE coalesce(e.bytes_before, 0) < %(bytes_max)s
ORDER BY e.id;
