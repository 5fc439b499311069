"""When to replace a machine whose mix of early, random and wear-out failures is unknown.

python examples/maintenance.py [FILE.png] [TRIALS] [STEPS]
"""

from money import arguments, compare

import vbmle

if __name__ == "__main__":
    compare(vbmle.worlds.maintenance(), "week", *arguments(__doc__, trials=10, steps=600))
