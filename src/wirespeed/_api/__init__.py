"""The public functions: one call from a machine's own words, or a preset's name, to an answer."""
