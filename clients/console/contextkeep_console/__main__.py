"""`python -m contextkeep_console`: serve the console."""

from contextkeep_console.serving import main

main()
