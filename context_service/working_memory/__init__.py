"""Working memory: records in Postgres over blobs in object storage."""
