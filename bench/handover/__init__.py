"""Whether an agent that takes over a long run can work from the pack alone: twelve questions, three kinds of runs."""
