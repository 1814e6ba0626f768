"""The audit chain: linked while the hub runs, verified on request."""
