"""SQL of contexts."""
