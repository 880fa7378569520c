-- read
SELECT outcomes FROM context.context_window WHERE tenant_id = %s AND window_id = %s;

-- write
UPDATE context.context_window SET outcomes = %s WHERE tenant_id = %s AND window_id = %s;
