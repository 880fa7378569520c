"""The gRPC server: its process, its interceptors, health, and how it drains."""
