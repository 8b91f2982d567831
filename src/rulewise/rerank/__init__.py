"""Reranking of found rules by a language model."""
