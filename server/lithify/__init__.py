"""Lithify: conversation compaction and event memory for coding agents, as a language server."""

__version__ = "0.1.0"
