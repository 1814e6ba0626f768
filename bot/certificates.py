"""The authorities that clients of the hub trust."""

import ssl


class Certificates:
    """One TLS context for all clients, made when the first of them needs it: loading the authorities takes
    a tenth of a second, and plain http needs none."""

    def __init__(self) -> None:
        self._context: ssl.SSLContext | None = None

    def for_url(self, url: str) -> ssl.SSLContext | None:
        """The context to talk to that address with; None for plain http."""
        if url.lower().startswith("http:"):
            return None
        if self._context is None:
            from core.model.http import tls_context

            self._context = tls_context()
        return self._context
