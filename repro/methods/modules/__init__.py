"""What learners are made of, whatever the method: axes of runs, packed batches, random streams."""
