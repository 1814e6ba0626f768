"""The hub's core, independent of any platform or web framework."""
