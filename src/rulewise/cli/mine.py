"""`rulewise mine`: rules from knowledge graphs, and what given rules say of a graph. A file for each command."""

from __future__ import annotations

import importlib

import click

__all__ = ["SUBCOMMANDS", "mine"]

SUBCOMMANDS: dict[str, tuple[str, str]] = {
    "amie": ("rulewise.cli.mine_amie:amie", "Mine rules of a static graph, exhaustively."),
    "apply": ("rulewise.cli.mine_given:apply", "Write the facts that rules give in a graph."),
    "evaluate": ("rulewise.cli.mine_tlogic:evaluate", "Rank the links of a temporal graph that rules predict."),
    "explain": ("rulewise.cli.mine_given:explain", "Show a rule's groundings and predictions in a graph."),
    "merge": ("rulewise.cli.mine_given:merge", "Join rules of several miners or files."),
    "predict": ("rulewise.cli.mine_tlogic:predict", "Say what rules predict of a temporal graph, and why."),
    "redundant": ("rulewise.cli.mine_given:redundant", "List rules that add nothing."),
    "score": ("rulewise.cli.mine_given:score", "Measure rules on a graph, such as another one."),
    "select": ("rulewise.cli.mine_given:select", "Write the rules that meet conditions."),
    "tlogic": ("rulewise.cli.mine_tlogic:tlogic", "Mine rules of a temporal graph, by walks or exhaustively."),
}
"""Command -> where it is, and its line in the overview; kept here so that `--help` imports no command."""


class LazyMine(click.Group):
    """A group that imports a command when it is run, and not to list it."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names of the commands."""
        return sorted(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of this name, imported now."""
        if cmd_name not in SUBCOMMANDS:
            return None
        module, _, attribute = SUBCOMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview from the table above."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, SUBCOMMANDS[name][1]) for name in self.list_commands(ctx)])


@click.group(cls=LazyMine)
def mine() -> None:
    """Mine rules from knowledge graphs, and apply, measure and choose rules."""
