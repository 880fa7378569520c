"""Connections to others: TLS, addresses that are checked, and HTTP to servers that are not trusted."""
