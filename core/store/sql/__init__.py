"""The units of the store: every statement once, over a transaction."""
