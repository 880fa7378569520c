"""Statements in `.sql` files, and the two ways to write safely: idempotency keys and optimistic writes."""
