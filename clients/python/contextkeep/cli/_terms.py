"""What the helps of commands say about words that a newcomer does not know."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

_WINDOW, _KNOWLEDGE, _AGENT = (f"contextkeep.cli.{name}" for name in ("window", "knowledge", "agent"))

# A word of helps, the sentence that explains it, and the module with this meaning of it, or "" for all modules.
# A help that explains the word itself, as "a pack:" does, gets no sentence.
_TERMS = [
    (
        r"packs?",
        "A pack is the list of messages for the next request to the model.",
        "",
    ),
    (
        r"compactions?",
        "A compaction replaces old messages with shorter texts, so that requests stay below the token limit.",
        "",
    ),
    (
        r"[Pp]ins?",
        "A pin is a text that every pack has.",
        _WINDOW,
    ),
    (
        r"state of the work",
        "The state of the work lists its rules, goals, values, decisions and open questions.",
        _WINDOW,
    ),
    (
        r"families|family|sources?",
        "A source is what a query searches, such as workspace, memory or an MCP server; `contextkeep sources list`"
        " prints them with their families.",
        _AGENT,
    ),
    (
        r"steps?",
        "A step is one message, or an assistant's message with the results of its tool calls.",
        _WINDOW,
    ),
    (
        r"seq|reached_seq",
        "The seq of a message is its number in the context, from 1; `contextkeep context messages` prints it.",
        "",
    ),
    (
        r"epoch",
        "The epoch of a window is a counter that grows when the beginning of what the model gets changes, such as by a"
        " compaction; `contextkeep window get` prints it.",
        "",
    ),
    (
        r"zones?|segments?",
        "A zone has the parts of one kind in a pack, such as pins, verbatim messages or segments (summaries).",
        _WINDOW,
    ),
    (
        r"REFS?|refs?",
        "A ref names messages: m3 is message 3 of the context, m3/1 is part 1 of it, and m3..m8 are messages 3 to 8;"
        " packs and searches print refs.",
        "",
    ),
    (
        r"[Pp]assages?",
        "A passage is a message or a part of a long one; the ref m3.0 names the first passage of message 3.",
        "",
    ),
    (
        r"bundles?",
        "An agent bundle is a group of agents that are deployed together; it can have nodes, pages and keys of its"
        " own.",
        "",
    ),
    (
        r"definitions?",
        "A definition is a set of rules: which nodes have a page, and which facets it has (headings with a text).",
        _KNOWLEDGE,
    ),
    (
        r"facets?",
        "A page is about one node of the graph, and consists of facets: headings with a text.",
        _KNOWLEDGE,
    ),
]


def terms_of(command: click.Command, *paragraphs: str) -> str:
    """Return sentences that explain words of a command's help and of its options, or "" if none needs it.

    Args:
        command: The command, with its options and arguments.
        paragraphs: The text of its help.
    """
    module = getattr(command.callback, "__module__", "")
    names = {parameter.name for parameter in command.params if isinstance(parameter, click.Argument)}
    text = " ".join([*paragraphs, *_option_texts(command)])
    sentences = ["`contextkeep window list` prints the WINDOW_ID."] if "window_id" in names else []
    for word, sentence, where in _TERMS:
        if where in ("", module) and re.search(rf"\b(?:{word})\b", text):
            explained = re.search(rf"\b(?:{word}): |\bA {word} is\b|\((?:{word})\)", " ".join(paragraphs))
            sentences += [] if explained else [sentence]
    return " ".join(sentences)


def _option_texts(command: click.Command) -> Iterator[str]:
    """Yield the texts of the options that the help shows, with the names of arguments."""
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            yield parameter.help or ""
        elif isinstance(parameter, click.Argument):
            yield parameter.make_metavar(click.Context(command))
