"""A data set becomes questions, windows, answers and scores."""
