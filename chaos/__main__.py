"""`python -m chaos`: the same as the command `chaos`."""

from chaos.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
