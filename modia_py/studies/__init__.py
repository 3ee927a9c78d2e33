"""Studies of a model: derivatives of simulations, and what is made with them."""
