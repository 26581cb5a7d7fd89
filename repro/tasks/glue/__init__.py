"""GLUE: nine tasks of one or two sentences (Wang et al. 2018)."""
