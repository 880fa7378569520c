"""Stand-ins for the clouds, each a process of its own: nothing of theirs is imported here, and none is durable."""
