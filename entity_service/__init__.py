"""The Entity Service: nodes and typed edges in Postgres, over gRPC."""
