"""The disk: paths, projects, locks, the buffer file, the database."""
