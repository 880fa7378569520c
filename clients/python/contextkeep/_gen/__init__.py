"""What is generated from the protos by `make proto`."""
