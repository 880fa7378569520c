"""Endpoints of models: whatever one is asked goes out from here, and everything works without any."""
