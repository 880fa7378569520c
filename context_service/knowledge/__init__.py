"""The proto service `Knowledge`, joined from the servicers of its rooms."""
