"""One file a feature of the wire contract; none knows another."""
