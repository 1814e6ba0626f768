"""What every implementation of the Store port must do; see conftest for the implementations."""
