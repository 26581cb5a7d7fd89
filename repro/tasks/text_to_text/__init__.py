"""Tasks as text to text (Raffel et al. 2020): GLUE, few-shot sets and span corruption, for T5."""
