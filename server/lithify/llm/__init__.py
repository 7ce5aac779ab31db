"""The models: one file a provider, all behind one port."""
