"""Recordings of a hub's conversations, and their replay without a network, a process or a model."""
