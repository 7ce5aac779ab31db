"""Coding agents over the Agent Client Protocol: one process, one session, one prompt a request."""
