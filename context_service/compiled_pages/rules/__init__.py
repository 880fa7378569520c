"""Rules of compiled pages."""
