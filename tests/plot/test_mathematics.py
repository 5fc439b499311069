"""Symbols in words, as mathematics."""

import pytest

from vbmle.plot.mathematics import for_matplotlib, for_page

CASES = [
    ("step t", "step $t$", "step <i>t</i>"),
    (
        "|θ_t - θ*|²",
        r"|$\theta_{t}$ - $\theta^{*}$|$^2$",
        "|<i>θ</i><sub><i>t</i></sub> - <i>θ</i><sup>*</sup>|²",
    ),
    ("about as d^1.28", "about as $d^{1.28}$", "about as <i>d</i><sup>1.28</sup>"),
    ("p_min² = 0", r"$p_{\min}^{2}$ = 0", "<i>p</i><sub>min</sub><sup>2</sup> = 0"),
    ("S = 3, A = 2", "$S$ = 3, $A$ = 2", "<i>S</i> = 3, <i>A</i> = 2"),
    ("10 √t", r"10 $\sqrt{t}$", "10 √<i>t</i>"),
    ("≥ 35 hours", r"$\geq$ 35 hours", "≥ 35 hours"),
    ("$5 < $6 at a time", r"\$5 < \$6 at a time", "$5 &lt; $6 at a time"),
    ("A step at best; the Sd", "A step at best; the Sd", "A step at best; the Sd"),
]


@pytest.mark.parametrize(("words", "drawn", "page"), CASES)
def test_symbols_are_set_as_mathematics_and_words_are_left_alone(words: str, drawn: str, page: str):
    assert for_matplotlib(words) == drawn
    assert for_page(words) == page
