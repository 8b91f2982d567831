"""Documents and knowledge graphs: what rules are mined from and what is searched besides rules."""
