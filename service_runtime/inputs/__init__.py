"""What callers send and a server reads with care: JSON documents, condition trees, page tokens."""
