"""The public names, for type checkers and editors."""

from vbmle.plot.beliefs import belief as belief
from vbmle.plot.beliefs import simplex as simplex
from vbmle.plot.beliefs import theta_path as theta_path
from vbmle.plot.curves import comparison as comparison
from vbmle.plot.curves import league as league
from vbmle.plot.curves import regret as regret
from vbmle.plot.curves import sweep as sweep
from vbmle.plot.plans import policy as policy
from vbmle.plot.plans import values as values
from vbmle.plot.plans import world as world

__all__: list[str]
