"""`python -m judge.testing`: the loopback server in a process of its own."""

from __future__ import annotations

import argparse
import sys

from judge.testing.server import LoopbackServer


def _serve() -> None:
    parser = argparse.ArgumentParser(prog="python -m judge.testing", description="A loopback judge endpoint.")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    options = parser.parse_args()
    with LoopbackServer(delay_s=options.delay, port=options.port, record=False) as server:
        sys.stdout.write(server.base_url + "\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    _serve()
