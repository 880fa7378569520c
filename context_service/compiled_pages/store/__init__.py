"""SQL of compiled pages."""
