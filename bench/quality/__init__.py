"""Whether recalled passages contain the answer: in conversations, and in logs of agents."""
