-- end_keys
SELECT access.end_keys_of_user(%s) AS ended;

-- rename
SELECT access.rename_in_calls(%(first)s::tid, %(end)s::tid, %(subject)s, %(digest)s, %(pseudonym)s);
