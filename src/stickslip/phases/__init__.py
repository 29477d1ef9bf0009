"""Event-driven runs: smooth phases in fixed modes, and what happens at the events between them.

`history` says what a run was, `problems` are the five problems of `schemes.event_driven` as functions of numbers, `course`
is the state on the way, `search` finds the next event, `settle` the modes after it, and `run` is the loop.
"""
