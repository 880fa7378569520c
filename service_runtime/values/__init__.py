"""Small values and their helpers: ids, vectors, checks of fields that callers send, copies by field names."""
