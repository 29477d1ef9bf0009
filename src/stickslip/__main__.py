"""`python -m stickslip`, the same as the program `stickslip`."""

from stickslip.cli import main

main()
