"""Bundled samples: a small library and cases, so that everything can be tried offline."""
