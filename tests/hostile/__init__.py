"""Costs of texts made to take long, at every port they come in or go out by."""
