"""Houlsby et al. 2019, "Parameter-Efficient Transfer Learning for NLP": adapters on GLUE."""
