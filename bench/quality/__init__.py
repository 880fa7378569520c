"""Whether what is recalled holds the answer: of conversations, and of logs of agents."""
