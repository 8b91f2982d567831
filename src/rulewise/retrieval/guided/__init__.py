"""Rules that guide the search for documents (Chen et al., RuleRAG): which rules, what is searched with, what is kept."""
