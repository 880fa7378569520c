"""The soak of tenants over many databases: they are moved there and back while everything is killed."""
