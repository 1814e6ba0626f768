"""Puts together the models that the configuration names."""
