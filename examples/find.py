"""Find a file by its content. Needs `make run` in another terminal."""

from contextkeep import ContextClient

with ContextClient() as client:
    client.blobs.upload(b"# Zebra plan\nFirst the stripes.\n", name="plan.md")
    for hit in client.records.search("stripes zebra", limit=1):
        print(f"{hit.record.name}: {client.blobs.get_content(hit.record.working_memory_id).decode()}", end="")
