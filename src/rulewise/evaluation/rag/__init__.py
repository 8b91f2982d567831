"""Experiments with rule-guided retrieval-augmented generation (RuleRAG): cells, records, and what cells are made of."""
