"""The algebra of one step: laws as normal-cone inclusions, and the linear systems of a semismooth Newton method."""
