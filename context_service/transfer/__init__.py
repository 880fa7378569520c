"""Archives: a tenant, a context, a user or a graph, taken out and put in elsewhere."""
