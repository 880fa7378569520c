"""Child processes: they end with this one, and those that read files of strangers are confined."""
