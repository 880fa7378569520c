"""Recall a message from long ago when it matters. Needs `make run` in another terminal."""

from contextkeep import ContextClient

with ContextClient() as client:
    first = client.contexts.send("She has been coughing since Monday.")
    client.contexts.append([f"We talk of the weather, {n} of 30." for n in range(1, 31)], first.context_id)
    for item in client.contexts.recall(first.context_id, "Since when is she coughing?", tokens_max=1000).items:
        print(item)
