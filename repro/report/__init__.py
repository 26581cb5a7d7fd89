"""Published and reproduced side by side."""
