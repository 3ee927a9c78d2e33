"""Structure of array equations: integers in, integers out. No expressions and no JAX here."""
