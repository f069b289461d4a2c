"""The version of the package, apart so that every floor may read it."""

__version__ = "0.1.0"
