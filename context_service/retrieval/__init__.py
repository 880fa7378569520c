"""Retrieval for all rooms: the index of words, vectors of texts, and ranking by both."""
