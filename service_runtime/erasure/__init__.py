"""What a server keeps of an erased user: hashes, so that a restored backup is erased again."""
