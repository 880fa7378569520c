"""The state of a task: statements read from the log, and how later ones change them. Values in, values out."""
