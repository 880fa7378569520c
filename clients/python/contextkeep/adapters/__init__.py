"""What frameworks of others keep, kept here: a module a framework, and an extra of the same name.

`pip install 'contextkeep[openai-agents]'` brings what `contextkeep.adapters.openai_agents` imports, and so on. Nothing
here is imported by the rest of the client.
"""
