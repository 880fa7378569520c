"""SQL of blobs: their rows, resumable uploads, and where the bytes are stored."""
