"""Pictures of what a newcomer met and of what replaced it, for docs/first-ten-minutes.md."""
