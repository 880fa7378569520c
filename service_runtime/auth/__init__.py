"""Authentication: API keys, tokens, tenants, their secrets, and the audit trail of administrators."""
