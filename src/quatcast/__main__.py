"""`python -m quatcast` is the command line."""

from quatcast.cli import main

if __name__ == "__main__":
    main()
