"""The reason an item of a server's list is refused."""


class SchemaRefused(Exception):
    """A schema, or a tool, that will not be used; the message says why, of what the server wrote."""
