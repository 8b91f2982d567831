"""Rules mined from knowledge graphs."""
