"""Files on pages: their kind by their first bytes, and small pictures of them, which a confined process draws."""
