"""Whether context query finds the right source: a generated company, and other ways to merge what sources answer."""
