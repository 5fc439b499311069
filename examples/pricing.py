"""What to ask for seats that expire, when the mix of students, tourists and managers is unknown.

python examples/pricing.py [FILE.png] [TRIALS] [STEPS]
"""

from money import arguments, compare

import vbmle

if __name__ == "__main__":
    compare(vbmle.worlds.pricing(), "day", *arguments(__doc__, trials=5, steps=330))
