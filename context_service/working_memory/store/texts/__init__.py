"""SQL of searches for records: passages and texts of records and files, vectors, and searches."""
