"""What is broken here on purpose: Postgres, the other service, the disk, the clock, the process, the network."""
