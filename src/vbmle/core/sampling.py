"""The core's sampler: a Markov chain for the posterior of theta on the feasible set."""

from __future__ import annotations

import numpy as np

from vbmle.core.generated import vb_sampler_view
from vbmle.core.library import Floats, Handle, Remembered, Stateful, check, floats, lib, shown
from vbmle.core.model import Model


class Sampler(Stateful):
    """A chain in the coordinates y. `y` and `reference` are all its state."""

    def __init__(self, model: Model) -> None:
        self.model, free = model, (model.num_free,)
        self._handle = handle = Handle("sampler", model, model.handle)
        view = handle.look(vb_sampler_view())
        at = handle.arrays(view, y=free, reference=free, share=(view.num_facets,), center=free)
        self._state = {name: at[name] for name in ("y", "reference")}
        self.y, self.reference, self.share, self.center = (shown(array) for array in at.values())
        self.num_normals, self.num_steps = int(view.num_normals), int(view.num_steps)
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
        self._sample(counts, thinning, self._addresses)
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
        self._sample(counts, thinning, addresses)
        return theta

    def _sample(self, counts: Floats, thinning: int, addresses: tuple[int, int, int]) -> None:
        steps = thinning if self.num_steps else 1
        check(lib.vb_sampler_sample(self._handle.address, self._counts.of(counts), steps, *addresses))
