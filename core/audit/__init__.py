"""The audit's chain: linked while the hub runs, verified by whoever asks."""
