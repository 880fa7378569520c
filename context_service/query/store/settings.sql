-- read
SELECT provider_id, setting, imported::text AS imported_json FROM context.provider_setting WHERE tenant_id = %s;

-- lock
-- The row is the lock: of two that change other fields at once each keeps what the other one says.
INSERT INTO context.provider_setting (tenant_id, provider_id, setting, updated_by) VALUES (%s, %s, '{}', '')
ON CONFLICT (tenant_id, provider_id) DO UPDATE SET provider_id = EXCLUDED.provider_id
RETURNING setting;

-- write
UPDATE context.provider_setting SET setting = %s::jsonb, updated_by = %s, updated_at = now()
WHERE tenant_id = %s AND provider_id = %s;
