"""Whether recalled passages hold the answer: of conversations, and of logs of agents."""
