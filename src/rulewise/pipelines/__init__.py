"""The methods of the papers, put together from the rooms below."""
