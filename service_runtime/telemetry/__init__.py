"""What operators see of a server: logs, metrics and traces."""
