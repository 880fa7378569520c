-- tenant
SELECT id FROM access.tenant WHERE name = %(name)s;
