"""Derivatives of a run: of its steps, its output, its starts and its events, forward and backward."""
