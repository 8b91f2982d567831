"""Notations in which rules are written: each parses and renders."""
