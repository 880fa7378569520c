"""Texts of files, read in a process that can do nothing else: a file is what a stranger wrote."""
