"""The version, written down once: the package, its metadata and every saved result take it from here."""

__version__ = "0.1.0"
