"""Extensions that are Python packages: tools, channels and models that the operator names."""
