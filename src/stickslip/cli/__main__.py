"""`python -m stickslip.cli`, the same as the program `stickslip`."""

from stickslip.cli import main

main()
