"""Methods that mend a model's reasoning with knowledge: the baselines of RuleRAG, and RuleRAG on top of one of them."""
