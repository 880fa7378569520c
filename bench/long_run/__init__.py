"""Context windows over 10,000 steps of a generated log: what stays in sight, what it costs, and what rivals do."""
