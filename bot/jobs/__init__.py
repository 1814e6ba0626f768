"""What carries jobs out, what people do with them, and containers at a Docker daemon."""
