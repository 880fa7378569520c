"""What operators and the sweeper do to stored records and blobs."""
