"""Pretrained encoders: described without loading anything, and loaded frozen."""
