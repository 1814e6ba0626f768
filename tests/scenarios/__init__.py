"""The whole hub between the simulators: a message in, what people see out."""
