"""Work that no caller waits for: tasks of the server, the transactional outbox, long work in steps."""
