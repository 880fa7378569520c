"""The SQL of operations."""
