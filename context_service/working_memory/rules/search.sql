-- has_index
SELECT coalesce((SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)), false) AS has_index;

-- set_indexed
SELECT set_config('enable_sort', 'off', true), set_config('hnsw.iterative_scan', 'strict_order', true),
    set_config('hnsw.ef_search', %s, true), set_config('hnsw.max_scan_tuples', %s, true),
    set_config('transaction_read_only', 'on', true);

-- records
-- Cut where the answer is full, behind one record at least.
SELECT {{read}}, content_json, content_text
FROM (
    SELECT r.*, found.place, row_number() OVER by_place AS row_place, sum(r.bytes) OVER by_place AS bytes_so_far
    FROM unnest(%(ids)s::uuid[]) WITH ORDINALITY found (id, place)
    CROSS JOIN LATERAL (
        SELECT {{stored}}, {{record_columns.content}}, {{record_columns.size_with_content}} AS bytes
        FROM context.wm_record r
        WHERE r.tenant_id = %(tenant_id)s AND r.id = found.id
        OFFSET 0
    ) r
    WINDOW by_place AS (ORDER BY found.place ROWS UNBOUNDED PRECEDING)
) r
WHERE bytes_so_far <= %(bytes_max)s OR row_place = 1
ORDER BY place;
