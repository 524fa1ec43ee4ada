"""`python -m dlq_console` is the command `dlq-console`."""

from dlq_console.cli import main

if __name__ == "__main__":
    main()
