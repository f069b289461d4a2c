"""Results as files of other tools."""
