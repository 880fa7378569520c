-- owner
SELECT owner_user_id FROM context.context_window
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND closed_at IS NULL;
