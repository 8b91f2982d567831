"""`python -m rulewise`: the command line."""

from rulewise.cli import main

if __name__ == "__main__":
    main()
