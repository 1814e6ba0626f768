"""Puts together what carries routines out, and what people do with them."""
