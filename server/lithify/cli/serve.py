"""`lithify serve`: the language server that an editor starts."""

from __future__ import annotations

import argparse
import sys


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = subparsers.add_parser("serve", help="run the language server (an editor starts this)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--stdio", action="store_true", help="over standard input and output (the default)")
    how.add_argument("--tcp", metavar="HOST:PORT", type=_address, help="over TCP; without HOST on 127.0.0.1")
    parser.add_argument(
        "--clientProcessId", dest="client_process_id", metavar="N", type=int, help="end when that process ends"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serves until the editor is gone; the exit code: 0 after a shutdown, else 1."""
    from lithify.cli.output import fail, say
    from lithify.lsp.importing import importing

    with importing():
        from lithify.lsp import serve

    if args.tcp is None:
        if sys.stdin is None:
            return fail("standard input is closed, so no editor can be served; open it, or use --tcp")
        if sys.stdin.isatty():
            say("lithify: waiting for an editor on standard input; Ctrl-C ends")
        return serve.serve_stdio(args.client_process_id)
    host, port = args.tcp
    try:
        return serve.serve_tcp(host, port, args.client_process_id)
    except OSError as error:
        return fail(f"cannot listen on {host}:{port}: {error.strerror or error}; choose another port with --tcp")


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT, such as 127.0.0.1:7777")
    return host.strip("[]") or "127.0.0.1", int(port)
