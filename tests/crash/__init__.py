"""The hub is killed at chosen points and must keep its promises; judged by what the outside saw."""
