"""One collective algorithm a file."""
