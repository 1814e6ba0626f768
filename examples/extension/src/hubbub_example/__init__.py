"""A tool, a channel, a model provider and a hook for hubbub."""
