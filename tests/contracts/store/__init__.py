"""Promises of every implementation of the Store port; see conftest for the implementations."""
