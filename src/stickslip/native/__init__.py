"""Expressions to native code (`kernel`), and calls of it from compiled loops (`call`)."""
