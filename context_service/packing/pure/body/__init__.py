"""The body of a pack: its zones, its front, and the markers for the cache. Values in, values out."""
