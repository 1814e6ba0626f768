"""What the hub does, knowing no platform and no web framework."""
