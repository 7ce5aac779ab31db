"""The editor: the wire shapes, the protocol, and one file a feature."""
