"""Moosavi et al. 2022, "Adaptable Adapters": learned activations and a switch in every layer."""
