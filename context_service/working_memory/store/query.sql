-- answer(values, fields, active, where, group_by, order_by, sizes, names)
-- Rows are cut by size before they leave the database. A materialized part keeps its order. There is at least one row,
-- which has the number of rows.
WITH answer AS MATERIALIZED (
    SELECT {{values}}
    FROM (
        SELECT {{fields}}
        FROM context.wm_record_of_tenant r
        WHERE r.tenant_id = %(tenant_id)s AND (%(include_archived)s OR {{active}}) AND {{where}}
    ) s
    {{group_by}}
    ORDER BY {{order_by}}
    LIMIT %(limit)s + 1 OFFSET %(offset)s
), sized AS (
    SELECT a.*, sum({{sizes}}) OVER (ROWS UNBOUNDED PRECEDING) AS bytes_so_far FROM answer a
)
SELECT (SELECT count(*) FROM answer), z.bytes_so_far, {{names}}
FROM (VALUES (1)) one LEFT JOIN sized z ON z.bytes_so_far <= %(bytes_max)s
LIMIT %(limit)s
