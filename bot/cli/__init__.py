"""The `hubbub` command. Exit codes: 0 ok, 1 failed, 2 usage or configuration."""
