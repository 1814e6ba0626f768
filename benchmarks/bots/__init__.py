"""Bots that do far less than the hub: the floors it is measured beside."""
