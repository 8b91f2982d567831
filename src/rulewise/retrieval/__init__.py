"""Retrieval: BM25, dense, fusion, and the index that holds them."""
