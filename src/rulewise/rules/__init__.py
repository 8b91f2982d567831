"""Rules: the library, its files and its notations."""
