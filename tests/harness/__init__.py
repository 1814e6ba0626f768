"""One way to start a hub and what is around it, with variants: see docs/architecture.md."""
