"""Containers of the hub: what they may do."""
