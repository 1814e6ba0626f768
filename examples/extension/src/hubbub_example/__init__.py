"""A tool, a channel and a model provider for hubbub."""
