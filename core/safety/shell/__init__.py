"""Command lines: plain ones, their meaning, and what needs a person.

A plain line is read, expanded and judged here, and run by us from its argv. Any other line is run by bash,
only where a person approved that exact text.
"""
