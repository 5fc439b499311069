"""How many to order when the mix of quiet, usual and busy days is unknown, and lost sales are not seen.

python examples/inventory.py [FILE.png] [TRIALS] [STEPS]
"""

from money import arguments, compare

import vbmle

if __name__ == "__main__":
    compare(vbmle.worlds.inventory(), "day", *arguments(__doc__, trials=10, steps=300))
