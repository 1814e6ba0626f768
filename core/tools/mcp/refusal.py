"""Why something that a server lists is not taken."""


class SchemaRefused(Exception):
    """A schema, or a tool, that will not be used; the message says why, of what the server wrote."""
