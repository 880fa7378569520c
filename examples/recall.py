"""What was said long ago, recalled when it matters. Needs `make run` in another terminal."""

from contextkeep import ContextClient

with ContextClient() as context:
    first = context.contexts.send("She has been coughing since Monday.")
    context.contexts.append([f"We talk of the weather, {n} of 30." for n in range(1, 31)], first.context_id)
    for item in context.contexts.recall(first.context_id, "Since when is she coughing?", tokens_max=1000).items:
        print(item)
