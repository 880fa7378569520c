"""SQL of knowledge bases."""
