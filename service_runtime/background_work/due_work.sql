-- due_work(schema)
SELECT topic, tenant_id FROM {{schema}}.due_work();
