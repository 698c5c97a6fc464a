"""Losses, and the optimisers that descend their gradients."""
