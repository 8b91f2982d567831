"""The command line: one file a command, each calling the public API."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import click

from rulewise._version import __version__
from rulewise.cli.console import run

__all__ = ["COMMANDS", "cli", "main"]

COMMANDS: dict[str, tuple[str, str]] = {
    "ask": ("rulewise.cli.ask:ask", "Answer a case with the rules that apply."),
    "bench": ("rulewise.cli.bench:bench", "Run experiments on labelled sets, and report them."),
    "demo": ("rulewise.cli.demo:demo", "Run the main job on the bundled samples, offline."),
    "doctor": ("rulewise.cli.doctor:doctor", "Show extras, models, caches and what is missing."),
    "graph": ("rulewise.cli.graph:graph", "Count, split and convert knowledge graphs."),
    "index": ("rulewise.cli.index:index", "Build, update or check a saved index of a rule library."),
    "library": ("rulewise.cli.library:library", "Check, convert, compare and count rule libraries."),
    "llm": ("rulewise.cli.llm:llm", "Price tables, caches and batch files of language models."),
    "mine": ("rulewise.cli.mine:mine", "Mine rules from knowledge graphs, and apply them."),
    "rag": ("rulewise.cli.rag:rag", "Search documents guided by rules, and answer from both."),
    "search": ("rulewise.cli.search:search", "Find the rules that apply to queries."),
}
"""Command -> where it is, and its line in the overview; kept here so that `--help` imports no command."""


class LazyGroup(click.Group):
    """A group that imports a command when it is run, and not to list it."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names of the commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of this name, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview from the table above."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, with the nearest known name if there is none."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from rulewise.registry import unknown_name

            raise click.UsageError(str(unknown_name("command", args[0], COMMANDS)), ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rulewise")
def cli() -> None:
    """Find the rules that apply to a case, say why, and answer with them."""


def main(argv: Sequence[str] | None = None) -> Any:
    """Run the command line and exit with its code; see `rulewise.cli.console` for the codes."""
    run(cli, argv)
