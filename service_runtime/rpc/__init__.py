"""One call and its share of the process: principal, deadline, facts of the RPC, admission, fair queue, bytes."""
