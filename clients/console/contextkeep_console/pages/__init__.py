"""The pages: one module a part of the navigation. Each asks the services, and hands values to its template."""
