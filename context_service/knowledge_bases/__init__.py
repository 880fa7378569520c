"""Knowledge bases: documents of a tenant, read, cut and searched."""
