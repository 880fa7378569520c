-- spent
SELECT tokens FROM context.model_usage WHERE tenant_id = %s AND day = %s;

-- spend
-- A tenant has one row. A replica whose clock is still at the day before changes nothing.
INSERT INTO context.model_usage AS u (tenant_id, day, tokens) VALUES (%s, %s, %s)
ON CONFLICT (tenant_id) DO UPDATE
SET day = EXCLUDED.day, tokens = CASE WHEN u.day = EXCLUDED.day THEN u.tokens ELSE 0 END + EXCLUDED.tokens
WHERE u.day <= EXCLUDED.day;
