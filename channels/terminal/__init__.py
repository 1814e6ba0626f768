"""The terminal: what is shown in one, and the hub's own one as a channel."""
