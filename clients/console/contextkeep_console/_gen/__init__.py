"""Copies of modules of `service_runtime.child_processes`, made by `make proto`."""
