"""The prompts of a running hub."""
