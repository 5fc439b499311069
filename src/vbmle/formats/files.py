"""Reading a model from a file of any of these formats, and writing one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from vbmle.common.files import whole_or_absent
from vbmle.formats import bbrl, cassandra, craam, pomdpx, text
from vbmle.formats.candidates import Candidates, Where
from vbmle.model.mdp import LinearMixtureMDP

MOST_BYTES = 256 * 2**20

WRITERS: dict[str, Callable[[Candidates], str]] = {
    ".csv": craam.write,
    ".pomdpx": pomdpx.write,
    ".pomdp": cassandra.write,
    ".mdp": cassandra.write,
}
"""Of text, by how the name of the file ends."""


def read(path: str | os.PathLike[str], discount: float | None = None) -> LinearMixtureMDP:
    """The model in a file: CRAAM's CSV, POMDPX, Cassandra's .MDP or .POMDP, lines of s, a, s', r, p, BBRL, or our .npz.

    What a file is, is told by its content. Candidates become a model whose theta is one of them (domain "vertices"),
    and their probabilities its `prior`; the Dirichlet distributions of BBRL become a tabular model and its prior.
    Rewards are mapped to [0, 1], and values are told in the units of the file.

    Parameters
    ----------
    path : str or path
        The file.
    discount : float, optional
        gamma, for files that do not say it, or in place of what they say.

    Returns
    -------
    LinearMixtureMDP
        With `prior`, the probabilities of the candidates or the parameters of Dirichlet distributions; None where the
        file has none.

    Raises
    ------
    ValueError
        If the file is of another kind, or something in it is wrong; the message names the file, the line and the rule.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import tempfile, vbmle
    >>> path = tempfile.mkdtemp() + "/machine.csv"
    >>> with open(path, "w") as file:
    ...     _ = file.write("idstatefrom,idaction,idstateto,idoutcome,probability,reward\\n0,0,0,0,1,5\\n0,0,0,1,1,5\\n")
    >>> vbmle.read(path, discount=0.9)
    LinearMixtureMDP(states=1, actions=1, dimension=2, discount=0.9, domain='vertices')
    """
    file = Path(path)
    if file.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path} has {file.stat().st_size:,} bytes; {MOST_BYTES:,} at most")
    content = file.read_bytes()
    if content.startswith(b"PK"):
        found = LinearMixtureMDP.load(path)
        if discount is not None and discount != found.discount:
            raise ValueError(
                f"{path} has the discount {found.discount:g}, which stays; discount is {discount:g}"
            )
        return found
    told = _text(content)
    if pomdpx.is_it(told):
        return pomdpx.read(file, content).model(Where(path), discount)
    for format in (craam, text, cassandra):
        if format.is_it(told):
            return format.read(file, told).model(Where(path), discount)
    if bbrl.is_it(told):
        return bbrl.read(file, told, discount)
    raise ValueError(
        f"{path} is none of the formats that can be read: CRAAM's CSV (header {','.join(craam.HEADER)}), POMDPX, "
        "Cassandra's .MDP and .POMDP, lines of s, a, s', r, p with that header, a distribution of BBRL, or .npz"
    )


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def write(mdp: LinearMixtureMDP, path: str | os.PathLike[str]) -> None:
    """Write a model in the format that the name of the file ends with: .csv (CRAAM), .pomdpx, .POMDP, .MDP or .npz.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        The model, with its names and its prior where the format has room for them.
    path : str or path
        The file; one that is there is replaced as a whole, or stays as it was.

    Raises
    ------
    ValueError
        If the ending is none of these, or the format has no room for what the model has.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import vbmle
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "suspects.pomdpx"
    >>> mdp = vbmle.worlds.two_suspects().mdp
    >>> vbmle.write(mdp, path)
    >>> vbmle.read(path).num_states == mdp.num_states
    True
    """
    ending = Path(path).suffix.lower()
    if ending == ".npz":
        mdp.save(path)
        return
    if ending not in WRITERS:
        raise ValueError(f"{path} ends with {ending!r}; it needs one of {', '.join([*WRITERS, '.npz'])}")
    given = Candidates.of_model(mdp)
    if ending == ".mdp" and len(given.p) > 1:
        raise ValueError(f"{path}: a .MDP has one candidate, and the model has {len(given.p)}; use .POMDP")
    if ending != ".csv" and not given.allowed.all():
        raise ValueError(f"{path}: actions that are not allowed can be written as .csv or .npz alone")
    told = WRITERS[ending](given)
    with whole_or_absent(path) as aside:
        aside.write_text(told, encoding="utf-8")
