"""SQuAD 2.0: questions about paragraphs of Wikipedia, half of them without an answer there."""
