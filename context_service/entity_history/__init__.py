"""The history of an entity: all events that happened to it, read from the services and tables that hold them."""
