-- named
SELECT id FROM access.tenant WHERE name = %s;
