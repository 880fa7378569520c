-- owed
SELECT kind, owed, failed, oldest_at, last_error FROM context.owed_work(%(asking_id)s) ORDER BY kind;

-- retry
SELECT context.retry_work(%(asking_id)s, %(kind)s) AS retried;
