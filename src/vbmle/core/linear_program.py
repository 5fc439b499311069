"""Linear programs over {y : normals @ y + offsets >= 0}: which facets are needed, how wide the set is, its ends."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_int32, c_int64, c_void_p

import numpy as np
from numpy.typing import NDArray

from vbmle.core.library import check, declare
from vbmle.core.memory import Floats, floats


class Facets(ctypes.Structure):
    """`vb_facets` of vbmle.h."""

    _fields_ = (
        ("num_facets", c_int64),
        ("num_free", c_int64),
        ("normals", c_void_p),
        ("offsets", c_void_p),
    )


_needed = declare("vb_needed_facets", c_int32, POINTER(Facets), c_void_p)
_widths = declare("vb_widths", c_int32, POINTER(Facets), c_void_p)
_furthest = declare("vb_furthest", c_int32, POINTER(Facets), c_int64, c_void_p, c_void_p)


def needed_facets(normals: Floats, offsets: Floats) -> NDArray[np.bool_]:
    """Mask of the facets that are not made redundant by the others; y = 0 must be strictly inside."""
    needed = np.empty(len(offsets), np.bool_)
    check(_needed(byref(_facets(normals, offsets)), needed.ctypes.data))
    return needed


def widths(normals: Floats, offsets: Floats) -> Floats:
    """Extent of the set along every axis; infinity where it could not be found."""
    out = np.empty(normals.shape[1])
    check(_widths(byref(_facets(normals, offsets)), floats(out)))
    return out


def furthest(normals: Floats, offsets: Floats, directions: Floats) -> Floats:
    """For each row of `directions`, (k, free), a point of the set that lies furthest along it."""
    ends = np.empty_like(directions)
    free = normals.shape[1]
    addresses = floats(directions, len(directions), free), floats(ends)
    check(_furthest(byref(_facets(normals, offsets)), len(directions), *addresses))
    return ends


def _facets(normals: Floats, offsets: Floats) -> Facets:
    return Facets(*normals.shape, floats(normals, *normals.shape), floats(offsets, len(normals)))
