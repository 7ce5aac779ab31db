"""Finds, reads and fetches prompt templates."""
