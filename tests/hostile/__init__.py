"""What texts made to take long cost, at every port they come in or go out by."""
