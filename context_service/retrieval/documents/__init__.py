"""Texts of files, read in a process that can do nothing else, because a file may come from an attacker."""
