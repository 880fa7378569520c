"""Servicers of compiled pages: parse, one call, render."""
