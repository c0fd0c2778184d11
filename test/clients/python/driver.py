"""Drives the Python libraries: reads the cells from the standard input, holds each conversation with each client of
libraries/*.py, and prints one line of JSON for each cell."""

import contextlib
import importlib
import importlib.metadata
import json
import logging
import os
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "libraries"))
# Libraries must not report anything to anybody, nor write where the results go.
os.environ.update(OPENAI_AGENTS_DISABLE_TRACING="1", LANGSMITH_TRACING="false")
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)


@dataclass
class Cell:
    """The task of a client, and the functions by which it reports its progress."""

    url: str
    key: str
    model: str
    scenario: str
    prompts: list[str]
    stream: bool
    thinking: bool
    tools: list[dict]
    timeout_s: float
    calls: list[dict] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    def call_tool(self, name: str, city: str) -> str:
        self.calls.append({"name": name, "arguments": {"city": city}})
        return f"{name} of {city}: fine"

    def on_piece(self, piece: str | None) -> None:
        if piece:
            self.pieces.append(piece)

    def restart(self) -> None:
        """A new answer begins: only the pieces of the last one count."""
        self.pieces.clear()


@dataclass
class Answer:
    texts: list[str]
    reasoning: str


@dataclass
class Client:
    """One way to use a library. `errors` has the class that it raises for each cause of failure."""

    name: str
    package: str
    api: str
    errors: dict[str, str]
    ask: Callable[[Cell], Answer]
    #: Whether the library has a place for the thoughts of this model.
    shows: Callable[[Cell], bool] = lambda cell: True


def observe(client: Client, job: dict, given: dict) -> dict:
    first, *others = given["prompts"]
    tag = f"[cell {client.name} | {given['model']} | {given['scenario']}]"
    known = {name: given[name] for name in ("key", "model", "scenario", "stream", "thinking", "tools")}
    cell = Cell(url=job["url"], timeout_s=job["timeoutMs"] / 1000, prompts=[f"{tag} {first}", *others], **known)
    seen: dict[str, Any] = {
        "library": client.name,
        "version": importlib.metadata.version(client.package),
        "api": client.api,
        "model": cell.model,
        "scenario": cell.scenario,
    }
    try:
        answer = client.ask(cell)
        seen["texts"] = answer.texts
        if cell.thinking and client.shows(cell):
            seen["reasoning"] = answer.reasoning
    except Exception as error:
        seen["error"] = describe(client, error, given.get("failure"))
    return {**seen, "calls": cell.calls, "pieces": cell.pieces}


def describe(client: Client, error: Exception, cause: str | None) -> dict:
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    described = {
        "class": type(error).__name__,
        "expectedClass": client.errors.get(cause or "", "no error"),
        "message": str(error),
    }
    return {**described, "status": status} if isinstance(status, int) else described


def main() -> None:
    job = json.load(sys.stdin)
    results = sys.stdout
    for path in sorted((HERE / "libraries").glob("*.py")):
        with contextlib.redirect_stdout(sys.stderr):
            clients = importlib.import_module(path.stem).clients
        for client in clients:
            if job.get("library") and job["library"] not in client.name:
                continue
            for given in job["cells"]:
                with contextlib.redirect_stdout(sys.stderr), open(os.devnull, "w") as quiet:
                    with contextlib.redirect_stderr(quiet):
                        seen = observe(client, job, given)
                results.write(json.dumps(seen) + "\n")
                results.flush()


if __name__ == "__main__":
    # The libraries import what they need of this file by its name.
    sys.modules["driver"] = sys.modules["__main__"]
    main()
