"""Knowledge bases: documents of a tenant that are read, cut into passages, and searched."""
