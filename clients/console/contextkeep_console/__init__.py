"""The console: a web page that shows what agents keep, rendered on the server.

It is a client like any other: it calls the services with the visitor's key, and can do nothing that this key
cannot. Nothing is kept but sessions, in memory.
"""
