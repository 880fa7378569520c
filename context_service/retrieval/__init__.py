"""What texts are found by, whoever keeps them: vectors, and one order made of several."""
