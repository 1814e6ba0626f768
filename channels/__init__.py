"""Everything that speaks to people: platforms, and what they share."""
