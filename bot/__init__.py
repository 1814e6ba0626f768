"""The program: configuration, wiring, commands and the web side. The only package that knows everything."""
