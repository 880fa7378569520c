"""Commands of operators: `context-service serve`, `storage`, `retrieval` and the others."""
