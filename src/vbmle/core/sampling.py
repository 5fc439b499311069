"""The core's sampler: a Markov chain for the posterior of theta on the feasible set."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_int32, c_int64, c_void_p

import numpy as np

from vbmle.core.handle import Handle
from vbmle.core.library import check, declare
from vbmle.core.memory import Floats, Remembered, floats, view
from vbmle.core.model import Model


class _State(ctypes.Structure):
    """`vb_sampler_state` of vbmle.h."""

    _fields_ = (
        ("y", c_void_p),
        ("reference", c_void_p),
        ("share", c_void_p),
        ("center", c_void_p),
        ("num_facets", c_int64),
        ("num_normals", c_int64),
        ("num_steps", c_int64),
    )


_new = declare("vb_sampler_new", c_int32, c_void_p, POINTER(c_void_p))
_free = declare("vb_sampler_free", None, c_void_p)
_look = declare("vb_sampler_look", c_int32, c_void_p, POINTER(_State))
_sample = declare("vb_sampler_sample", c_int32, c_void_p, c_void_p, c_int64, c_void_p, c_void_p, c_void_p)


class Sampler:
    """A chain in the coordinates y. `y` and `reference` are all its state: views that may be saved and written."""

    def __init__(self, model: Model) -> None:
        self.model, state = model, _State()
        self.handle = handle = Handle(_new, _free, model, model.handle)
        check(_look(handle.address, byref(state)))
        free = (model.num_free,)
        self.y: Floats = view(handle, state.y, np.float64, free)
        self.reference: Floats = view(handle, state.reference, np.float64, free)
        self.share: Floats = view(handle, state.share, np.float64, (state.num_facets,))
        self.center: Floats = view(handle, state.center, np.float64, free)
        self.num_normals, self.num_steps = int(state.num_normals), int(state.num_steps)
        self._counts = Remembered(model.num_transitions)
        self._make_room(1)

    def _make_room(self, thinning: int) -> None:
        """Chance for so many steps per free coordinate, and theta: filled again for each draw."""
        self._thinning, self._theta = thinning, np.empty(self.model.dimension)
        self._normals = np.empty(thinning * self.num_normals)
        self._uniforms = np.empty((thinning * self.num_steps, 2))
        self._addresses = (floats(self._normals), floats(self._uniforms), floats(self._theta))

    def sample(self, counts: Floats, thinning: int, rng: np.random.Generator) -> Floats:
        """theta after `thinning` steps per free coordinate, under the counts (transitions,)."""
        if thinning != self._thinning:
            self._make_room(thinning)
        rng.standard_normal(out=self._normals)
        rng.random(out=self._uniforms)
        given = self._counts.of(counts)
        check(_sample(self.handle.address, given, thinning if self.num_steps else 1, *self._addresses))
        return self._theta.copy()

    def sample_with(self, counts: Floats, normals: Floats, uniforms: Floats) -> Floats:
        """The same with chance given: (thinning * num_normals,) normals, (thinning * num_steps, 2) uniforms."""
        thinning = len(uniforms) // self.num_steps if self.num_steps else 1
        theta = np.empty(self.model.dimension)
        addresses = (
            floats(normals, thinning * self.num_normals),
            floats(uniforms, thinning * self.num_steps, 2),
            floats(theta),
        )
        given = floats(counts, self.model.num_transitions)
        check(_sample(self.handle.address, given, thinning, *addresses))
        return theta
