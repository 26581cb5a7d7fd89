"""Karimi Mahabadi et al. 2021, HyperFormer: adapters that a shared hypernetwork generates."""
