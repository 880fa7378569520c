-- size
SELECT (pg_relation_size(%s::text::regclass) / current_setting('block_size')::bigint)::bigint AS pages;
