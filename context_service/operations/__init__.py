"""RPCs of operators for all tenants: limits, background work, and jobs."""
