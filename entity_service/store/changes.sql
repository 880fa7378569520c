-- is_foreign
-- A feed `f` that was started in another database, or in this one before it was put back from a copy.
(f.origin <> entity.change_origin() OR (f.started_below > pg_snapshot_xmax(pg_current_snapshot())) IS TRUE)

-- feed
SELECT
    {{is_foreign}} AS is_foreign, f.origin, f.place_key,
    (f.started_below <= pg_snapshot_xmax(pg_current_snapshot())) IS TRUE AS is_started,
    (f.started_below <= pg_snapshot_xmin(pg_current_snapshot())) IS TRUE AS is_settled,
    pg_snapshot_xmin(pg_current_snapshot())::text AS below
FROM entity.change_feed f
WHERE f.tenant_id = %(tenant_id)s;

-- place_key
SELECT f.place_key FROM entity.change_feed f WHERE f.tenant_id = %(tenant_id)s;

-- start
INSERT INTO entity.change_feed (tenant_id) VALUES (%(tenant_id)s) ON CONFLICT DO NOTHING;

-- started
-- In a transaction after that of `START`.
UPDATE entity.change_feed f
SET started_below = pg_snapshot_xmax(pg_current_snapshot())
WHERE f.tenant_id = %(tenant_id)s AND f.started_below IS NULL;

-- forget
-- The row of the feed is the lock: a replica that comes second waits, and then may find that the rows of its snapshot were
-- deleted by the first. So it counts the rows that it found: only fewer than `rows` mean that no others are left.
WITH feed AS (
    SELECT f.tenant_id FROM entity.change_feed f
    WHERE f.tenant_id = %(tenant_id)s AND {{is_foreign}}
    FOR UPDATE
), oldest AS (
    SELECT c.transaction_id, c.seq
    FROM feed
    CROSS JOIN LATERAL (
        SELECT c.transaction_id, c.seq
        FROM entity.change c
        WHERE c.tenant_id = %(tenant_id)s
        ORDER BY c.transaction_id, c.seq
        LIMIT %(rows)s
    ) c
), gone AS (
    DELETE FROM entity.change c
    USING oldest o
    WHERE c.tenant_id = %(tenant_id)s AND c.transaction_id = o.transaction_id AND c.seq = o.seq
)
SELECT count(*) AS count FROM oldest;

-- restart
UPDATE entity.change_feed f
SET origin = entity.change_origin(), started_at = now(), started_below = pg_snapshot_xmax(pg_current_snapshot()),
    forgotten_transaction_id = '0', forgotten_seq = 0
WHERE f.tenant_id = %(tenant_id)s AND {{is_foreign}}
RETURNING f.tenant_id;

-- oldest
-- The transaction that holds the list up: the oldest that has an id. Of other roles Postgres shows no age.
WITH oldest AS (SELECT pg_snapshot_xmin(pg_current_snapshot())::xid AS id)
SELECT a.pid, extract(epoch FROM clock_timestamp() - a.xact_start)::double precision AS age_s
FROM pg_stat_activity a, oldest
WHERE a.backend_xid = oldest.id
UNION ALL
SELECT NULL, extract(epoch FROM clock_timestamp() - p.prepared)::double precision
FROM pg_prepared_xacts p, oldest
WHERE p.transaction = oldest.id;

-- page
-- One snapshot has the forgotten changes, the limit below which no change appears late, and the changes up to it.
SELECT
    f.below::text AS below, f.is_foreign, f.origin, f.place_key,
    f.started_below IS NULL OR f.started_below > f.below AS is_starting,
    f.origin <> %(origin)s OR %(after_transaction_id)s::text::xid8 > f.ends
        OR (f.forgotten_transaction_id, f.forgotten_seq)
            > (%(after_transaction_id)s::text::xid8, %(after_seq)s::bigint) AS is_expired,
    c.transaction_id::text AS transaction_id, c.seq, c.id::text AS id, c.from_node_id::text AS from_node_id,
    c.to_node_id::text AS to_node_id, c.is_removed, c.graph_name, c.general_type_name, c.specific_type_name,
    (extract(epoch FROM c.changed_at) * 1000000)::bigint AS changed_at
FROM (
    SELECT
        f.origin, f.place_key, f.started_below, f.forgotten_transaction_id, f.forgotten_seq,
        {{is_foreign}} AS is_foreign,
        pg_snapshot_xmin(pg_current_snapshot()) AS below, pg_snapshot_xmax(pg_current_snapshot()) AS ends
    FROM entity.change_feed f
    WHERE f.tenant_id = %(tenant_id)s
) f
LEFT JOIN LATERAL (
    SELECT
        c.transaction_id, c.seq, c.id, c.from_node_id, c.to_node_id, c.is_removed, c.graph_name, c.general_type_name,
        c.specific_type_name, c.changed_at
    FROM entity.change c
    WHERE c.tenant_id = %(tenant_id)s AND c.transaction_id < f.below
        AND (c.transaction_id, c.seq) > (%(after_transaction_id)s::text::xid8, %(after_seq)s::bigint)
    ORDER BY c.transaction_id, c.seq
    LIMIT %(rows)s
) c ON true
ORDER BY c.transaction_id, c.seq;

-- sweep
-- The oldest changes that are past their time, and those beyond the number that is kept. Skips a feed that another replica sweeps.
WITH feed AS (
    SELECT f.tenant_id, pg_snapshot_xmin(pg_current_snapshot()) AS below
    FROM entity.change_feed f
    WHERE f.tenant_id = %(tenant_id)s
    FOR UPDATE SKIP LOCKED
), oldest AS (
    SELECT
        c.transaction_id, c.seq,
        bool_and(c.changed_at < now() - %(kept)s::interval) OVER (ORDER BY c.transaction_id, c.seq) AS is_old
    FROM feed
    CROSS JOIN LATERAL (
        SELECT c.transaction_id, c.seq, c.changed_at
        FROM entity.change c
        WHERE c.tenant_id = %(tenant_id)s AND c.transaction_id < feed.below
        ORDER BY c.transaction_id, c.seq
        LIMIT %(rows)s
    ) c
), too_many AS (
    SELECT c.transaction_id, c.seq
    FROM entity.change c
    WHERE c.tenant_id = %(tenant_id)s
    ORDER BY c.transaction_id DESC, c.seq DESC
    OFFSET %(kept_max)s
    LIMIT 1
), last AS (
    SELECT o.transaction_id, o.seq
    FROM oldest o
    LEFT JOIN too_many t ON true
    WHERE o.is_old OR (o.transaction_id, o.seq) <= (t.transaction_id, t.seq)
    ORDER BY o.transaction_id DESC, o.seq DESC
    LIMIT 1
), forgotten AS (
    UPDATE entity.change_feed f
    SET forgotten_transaction_id = last.transaction_id, forgotten_seq = last.seq
    FROM last
    WHERE f.tenant_id = %(tenant_id)s
), gone AS (
    DELETE FROM entity.change c
    USING last
    WHERE c.tenant_id = %(tenant_id)s AND (c.transaction_id, c.seq) <= (last.transaction_id, last.seq)
    RETURNING c.seq
)
SELECT count(*) AS count FROM gone;
