"""The published numbers against themselves."""
