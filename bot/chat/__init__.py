"""A person's conversation in a terminal: what is shown (`view`), and the two ways it is held (`talk`)."""
