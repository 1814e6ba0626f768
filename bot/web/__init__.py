"""HTTP server of the hub."""
