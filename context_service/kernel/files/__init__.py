"""Files in messages: what they are (`facts`), what models take (`models`), their tokens, and the limits of a request.

Nothing is imported here: the child process that reads files imports this package, and starts in a third of the time.
"""
