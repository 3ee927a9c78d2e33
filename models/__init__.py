"""Component libraries and examples, written in the modelling language like any user's model."""
