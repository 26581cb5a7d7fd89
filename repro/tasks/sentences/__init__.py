"""Tasks of one or two texts: rows, examples, metrics and scores, whatever the source."""
