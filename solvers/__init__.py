"""Numerics: residual functions written in JAX in, trajectories out. No expressions here."""
