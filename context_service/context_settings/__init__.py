"""Settings for contexts: what the service may do with those of a tenant, of an app, or of an agent."""
