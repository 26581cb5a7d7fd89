"""Tidy frames of published and reproduced numbers."""
