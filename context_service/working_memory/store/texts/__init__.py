"""SQL of what finds records: passages and texts of records and files, vectors, and searches."""
