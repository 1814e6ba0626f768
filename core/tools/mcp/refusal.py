"""The reason an item of a server's list is refused."""


class SchemaRefused(Exception):
    """Error for a refused schema or tool; the message gives the reason and may quote the server."""
