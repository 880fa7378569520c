"""SQL of profiles."""
