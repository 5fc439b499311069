"""The example worlds of `vbmle.testing`, made once for all tests of a process; none of them may change one."""

from vbmle.testing import example_models

EXAMPLES = example_models()
for world in EXAMPLES.values():
    world.theta.flags.writeable = False  # the arrays of a model are read-only by themselves
