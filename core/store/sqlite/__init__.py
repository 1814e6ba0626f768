"""The store on one SQLite file: `store` for the hub, `queries` for read-only clients."""
