"""What operators do for all tenants, over gRPC: limits, what is owed in the background, and jobs."""
