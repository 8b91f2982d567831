"""Reasoning: from a case to an answer with attributions."""
