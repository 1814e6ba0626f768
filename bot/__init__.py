"""The program: configuration, construction, command line, web; the only package that knows everything."""
