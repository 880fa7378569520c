"""Whether context query finds the right source: a generated company, and other ways to merge the sources' answers."""
