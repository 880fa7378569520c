"""Compiled pages: pages that definitions make of the entity graph, facet by facet."""
