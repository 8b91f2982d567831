"""Prompts: one text file each, word for word as published, and the code that renders them."""
