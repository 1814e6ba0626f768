"""What the test run itself is made of: profiles, groups that need a tool, proof files."""
