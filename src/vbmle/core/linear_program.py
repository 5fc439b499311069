"""Linear programs over {y : normals @ y + offsets >= 0}: which facets are needed, how wide the set is, its ends."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vbmle.core.generated import vb_facets
from vbmle.core.library import Floats, check, floats, lib


def needed_facets(normals: Floats, offsets: Floats) -> NDArray[np.bool_]:
    """Mask of the facets that are not made redundant by the others; y = 0 must be strictly inside."""
    needed = np.empty(len(offsets), np.bool_)
    check(lib.vb_needed_facets(_facets(normals, offsets), needed.ctypes.data))
    return needed


def widths(normals: Floats, offsets: Floats) -> Floats:
    """Extent of the set along every axis; infinity where it could not be found."""
    out = np.empty(normals.shape[1])
    check(lib.vb_widths(_facets(normals, offsets), floats(out)))
    return out


def furthest(normals: Floats, offsets: Floats, directions: Floats) -> Floats:
    """For each row of `directions`, (k, free), a point of the set that lies furthest along it."""
    ends, count, free = np.empty_like(directions), len(directions), normals.shape[1]
    given = floats(directions, count, free), floats(ends)
    check(lib.vb_furthest(_facets(normals, offsets), count, *given))
    return ends


def _facets(normals: Floats, offsets: Floats) -> vb_facets:
    given = floats(normals, *normals.shape), floats(offsets, len(normals))
    return vb_facets(*normals.shape, *given)
