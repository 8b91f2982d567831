"""Language models: the contract, back ends, and wrappers around any of them."""
