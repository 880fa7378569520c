"""Endpoints of models: all requests to models go out from here, and everything works without any model."""
