"""A data set becomes questions or sentences, examples, answers and scores."""
