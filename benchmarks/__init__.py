"""Side-by-side measurements, runnable by anyone: `python -m benchmarks.overhead`, `… benchmarks.store`."""
