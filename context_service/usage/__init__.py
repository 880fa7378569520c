"""Usage of windows: bills, costs, statistics, and how steps ended."""
