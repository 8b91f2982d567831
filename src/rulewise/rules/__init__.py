"""Rules: the library, its files and its notations.

`library` holds rules, `readers` reads files of any layout, `writers` writes them and says what is lost, `exchange` is
the JSON form, `formats` the notations, `filters`, `diff` and `stats` select, compare and count.
"""
