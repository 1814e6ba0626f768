"""What the hub serves over HTTP."""
