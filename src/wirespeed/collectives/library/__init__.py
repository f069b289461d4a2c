"""What the collective library would choose, by its own constants: never by our parameters."""
