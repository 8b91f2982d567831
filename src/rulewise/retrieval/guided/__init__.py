"""Rules that guide the search for documents (RuleRAG): which rules, what is searched with, what is kept."""
