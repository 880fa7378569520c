"""A file, found by what is in it. Needs `make run` in another terminal."""

from contextkeep import ContextClient

with ContextClient() as context:
    context.blobs.upload(b"# Zebra plan\nFirst the stripes.\n", name="plan.md")
    for hit in context.records.search("stripes zebra", limit=1):
        print(f"{hit.record.name}: {context.blobs.get_content(hit.record.working_memory_id).decode()}", end="")
