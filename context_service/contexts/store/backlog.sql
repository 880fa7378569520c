-- index
-- Passages are those that Postgres has counted, near enough, and not looked at one by one.
SELECT pg_relation_size('context.passage_terms') AS index_bytes,
    (SELECT n_live_tup FROM pg_stat_user_tables WHERE relid = 'context.passage'::regclass) AS passages;

-- oldest
SELECT v.vectors, v.vectors_s,
    (SELECT extract(epoch FROM now() - min(created_at))::float FROM context.erasure
        WHERE tenant_id = %(tenant_id)s AND finished_at IS NULL) AS erasures_s,
    (SELECT extract(epoch FROM now() - min(created_at))::float FROM context.subject_erasure
        WHERE tenant_id = %(tenant_id)s AND finished_at IS NULL) AS subjects_s
FROM (
    SELECT count(*) AS vectors, extract(epoch FROM now() - min(created_at))::float AS vectors_s
    FROM context.outbox
    WHERE tenant_id = %(tenant_id)s AND topic = ANY (%(topics)s)
) v;
