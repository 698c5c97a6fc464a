"""Entry point of `python -m quatcast`, which is the same as the command `quatcast`."""

from quatcast.cli import main

if __name__ == "__main__":
    main()
