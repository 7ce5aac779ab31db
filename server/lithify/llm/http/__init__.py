"""Endpoints over HTTP: one provider, one module for each wire format."""
