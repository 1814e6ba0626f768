"""The parts of the test run itself: profiles, groups that need a tool, proof files."""
