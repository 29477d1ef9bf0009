"""From declarations and schemes to compiled steps: derive, write down, compile, assemble, advance."""
