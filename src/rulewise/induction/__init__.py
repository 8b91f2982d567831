"""Induction: from a query to a hypothesised rule."""
