"""Servicers of working memory: parse, one call, render."""
