"""`python -m headwater` and the `headwater` command."""

from headwater.cli import main

if __name__ == "__main__":
    main()
