"""When to open the door and hire the fast server, when the mix of arrivals is unknown and a closed door is blind.

python examples/service_desk.py [FILE.png] [TRIALS] [STEPS]
"""

from money import arguments, compare

import vbmle

if __name__ == "__main__":
    compare(vbmle.worlds.queue(), "minute", *arguments(__doc__, trials=10, steps=300))
