"""MCP servers of tenants, and which of their tools context query may call."""
