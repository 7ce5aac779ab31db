"""Chat files: each format to messages with their text ranges, and a compacted range back to text; pure."""
