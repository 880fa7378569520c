-- keep
SELECT access.keep_call(
    %(id)s, %(call_id)s, %(method)s, %(scope)s, %(status)s, %(reason)s, %(subject)s, %(user_id)s, %(agent_id)s,
    %(peer)s, %(ids)s, %(count)s
);

-- count
SELECT access.count_refused(%(first_id)s, %(count)s) AS is_counted;

-- list
SELECT id, call_id, called_at, method, scope, status, reason, subject, user_id, agent_id, peer, ids, count
FROM access.administrative_call
WHERE tenant_id = %(tenant_id)s AND id < %(before_id)s
ORDER BY id DESC LIMIT %(count)s;

-- find
SELECT id, call_id, called_at, method, scope, status, reason, subject, user_id, agent_id, peer, ids, count
FROM access.administrative_call
WHERE tenant_id = %(tenant_id)s AND call_id = %(call_id)s AND id < %(before_id)s
ORDER BY id DESC LIMIT %(count)s;
