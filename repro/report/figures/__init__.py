"""Figures: what is drawn as plain data, the drawing, and the files that hold both."""
