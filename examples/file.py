"""A file, kept and brought back. Needs `make run` in another terminal."""

from contextkeep import ContextClient

with ContextClient() as client:
    file = client.blobs.upload(b"# Zebra plan\nFirst the stripes.\n", name="plan.md")
    client.blobs.download(file.working_memory_id, "copy-of-plan.md")
    print(f"{file.name}: {file.size_bytes} bytes of {file.content_type}")
