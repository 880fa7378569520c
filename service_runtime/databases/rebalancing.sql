-- held
-- Rows of messages and nodes stand for all that a tenant has; sizes of databases say how many bytes one is.
SELECT t.name, (SELECT count(*) FROM entity.node n WHERE n.tenant_id = t.id)
    + (SELECT count(*) FROM context.message m WHERE m.tenant_id = t.id) AS rows,
    (SELECT count(*) FROM context.request r WHERE r.tenant_id = t.id)
    + (SELECT count(*) FROM entity.request r WHERE r.tenant_id = t.id) AS writes
FROM access.tenant t WHERE access.lives_here(t.id);
