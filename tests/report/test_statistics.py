"""Statistics on synthetic data whose truth is known: above all, that 95% intervals cover it 95% of the time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from vbmle.common import statistics
from vbmle.common.validation import Floats
from vbmle.report import significance
from vbmle.report.runs import Runs, WorldRuns

SAMPLES = 1000


def check_coverage(covered: list[bool], slack: float) -> None:
    """The rate lies within 4 standard errors of .95, plus what an interval of its kind is known to be off."""
    error = np.sqrt(0.95 * 0.05 / len(covered))
    assert abs(np.mean(covered) - 0.95) <= slack + 4.0 * error, np.mean(covered)


def contains(found: statistics.Interval, truth: float) -> bool:
    assert found.low <= found.value <= found.high
    return found.low <= truth <= found.high


def worlds(ours: list[Floats], theirs: list[Floats]) -> list[WorldRuns]:
    """Worlds where the agents a and b have these regrets after one step."""
    found = []
    for pair in zip(ours, theirs, strict=True):
        agents = {
            agent: Runs(np.arange(len(lost)), np.array([1]), {"regret": lost[:, None]})
            for agent, lost in zip("ab", pair, strict=True)
        }
        found.append(WorldRuns("x", "w", {}, len(pair[0]), 1, agents))
    return found


def improvement(ours: list[Floats], theirs: list[Floats]) -> statistics.Interval:
    return significance.probability(worlds(ours, theirs), "a", "b")


# One sample


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_iqm_is_the_trimmed_mean(values: list[float]):
    scale = max(1.0, max(abs(value) for value in values))
    assert abs(statistics.iqm(np.array(values)) - stats.trim_mean(values, 0.25)) <= 1e-10 * scale


@pytest.mark.parametrize("count", [8, 20])
def test_intervals_cover_normal_means_at_their_rate(count: int):
    """4000 samples: the rate lies within 4 standard errors of .95, plus .01 for an interval that is not exact."""
    rng = np.random.default_rng(1)
    samples = rng.normal(3.0, 2.0, (count, 4000))
    low, high = statistics.mean_band(samples)
    covered = np.mean((low <= 3.0) & (high >= 3.0))
    assert abs(covered - 0.95) <= 0.01 + 4.0 * np.sqrt(0.95 * 0.05 / 4000)


def test_plain_percentile_intervals_would_be_too_narrow():
    """Why the quantiles are expanded: for n = 6 SciPy's percentile interval covers much less than 95%."""
    rng = np.random.default_rng(1)
    samples = rng.normal(size=(400, 6))
    plain = stats.bootstrap((samples,), np.mean, axis=1, n_resamples=500, method="percentile", rng=1)
    ours = statistics.mean_band(samples.T)
    low, high = plain.confidence_interval
    assert np.mean((low <= 0.0) & (high >= 0.0)) < 0.9
    assert np.all(ours[1] - ours[0] > high - low)


def test_for_many_trials_the_interval_is_the_plain_bootstrap():
    values = np.random.default_rng(2).exponential(size=400)
    plain = stats.bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", rng=3)
    ours = statistics.mean_interval(values)
    error = values.std(ddof=1) / np.sqrt(len(values))
    # Two resamplings of 10,000 differ by about 2% of a standard error; expansion at n = 400 adds less than that.
    assert abs(ours.low - plain.confidence_interval.low) < 0.1 * error
    assert abs(ours.high - plain.confidence_interval.high) < 0.1 * error


def test_intervals_move_and_stretch_with_the_data():
    values = np.random.default_rng(4).normal(size=12)
    one, two = statistics.mean_interval(values), statistics.mean_interval(5.0 + 2.0 * values)
    np.testing.assert_allclose([5.0 + 2.0 * one.low, 5.0 + 2.0 * one.high], [two.low, two.high], atol=1e-10)


@pytest.mark.parametrize("count", [1, statistics.FEWEST - 1])
def test_too_few_trials_have_a_mean_and_no_interval(count: int):
    few = np.arange(2.0, 2.0 + count)
    for found in (
        statistics.mean_interval(few),
        statistics.median_interval(few),
        statistics.iqm_interval(few),
    ):
        assert found.value == few.mean()
        assert not found.known
    gap = significance.difference(worlds([few], [few + 9.0])[0], "a", "b")
    assert gap is not None
    assert (gap.found.value, gap.outcome) == (-9.0, "too few")
    assert not improvement([few], [few + 9.0]).known
    steps = np.arange(1, 1001)
    assert not statistics.growth(steps, np.outer(few, np.sqrt(steps))).known


def test_the_fewest_trials_are_those_that_could_tell_anything():
    """If there is no difference, all of n point one way with probability 2^(1-n): below 5% from six on."""
    assert 2.0 ** (1 - statistics.FEWEST) < 0.05 < 2.0 ** (2 - statistics.FEWEST)


def test_median_intervals_cover():
    """Exponential samples of 20, median log 2. Medians of resamples take few values."""
    rng = np.random.default_rng(5)
    samples = rng.exponential(size=(SAMPLES, 20))
    check_coverage([contains(statistics.median_interval(s), np.log(2.0)) for s in samples], slack=0.01)


def test_iqm_intervals_cover():
    """Exponential samples of 20: the mean of -log(1-p) over the middle half of p."""
    p = np.linspace(0.25, 0.75, 20_001)
    truth = float(-np.log1p(-p).mean())
    rng = np.random.default_rng(6)
    samples = rng.exponential(size=(SAMPLES, 20))
    check_coverage([contains(statistics.iqm_interval(s), truth) for s in samples], slack=0.01)


# Comparisons


def test_paired_differences_cover_where_unpaired_ones_could_not():
    """Worlds differ by 100, agents by 1: the interval of the paired difference is short and still covers."""
    rng = np.random.default_rng(7)
    covered = []
    for _ in range(SAMPLES):
        world = rng.exponential(100.0, 20)
        ours, theirs = world + rng.normal(0.0, 1.0, 20), world + 1.0 + rng.normal(0.0, 1.0, 20)
        gap = significance.difference(worlds([ours], [theirs])[0], "a", "b")
        assert gap is not None
        covered.append(contains(gap.found, -1.0))
        assert gap.found.high - gap.found.low < 4.0
    check_coverage(covered, slack=0.01)


@pytest.mark.parametrize("count", [8, 20])
def test_differences_of_skewed_losses_cover(count: int):
    """Exponential losses of means 1 and 2: the mean difference is -1. Few skewed trials cost up to 3%."""
    rng = np.random.default_rng(13)
    covered = []
    for _ in range(SAMPLES):
        ours, theirs = rng.exponential(1.0, count), rng.exponential(2.0, count)
        gap = significance.difference(worlds([ours], [theirs])[0], "a", "b")
        assert gap is not None
        covered.append(contains(gap.found, -1.0))
    check_coverage(covered, slack=0.03)


def test_a_difference_is_agent_minus_the_other_and_below_0_it_is_better():
    (world,) = worlds([np.arange(10.0)], [np.arange(10.0) + 5.0 + 0.1 * np.sin(np.arange(10.0))])
    ours, theirs = significance.difference(world, "a", "b"), significance.difference(world, "b", "a")
    assert ours is not None
    assert theirs is not None
    assert (ours.outcome, theirs.outcome) == ("better", "worse")
    assert ours.found.high < 0.0 < theirs.found.low
    assert theirs.turned() == ours
    assert ours.share.value == pytest.approx(-5.0 / 9.5, rel=0.02)


@pytest.mark.parametrize("gap", [0.0, 1.5, 2.3])
def test_the_probability_of_improvement_is_covered(gap: float):
    """Normal differences with mean `gap` and variance 2 in each of three worlds of 12: P = Phi(gap / sqrt 2)."""
    rng = np.random.default_rng(8)
    truth = float(stats.norm.cdf(gap / np.sqrt(2.0)))
    covered = []
    for _ in range(SAMPLES // 2):
        ours = list(rng.normal(0.0, 1.0, (3, 12)))
        theirs = list(rng.normal(gap, 1.0, (3, 12)))
        covered.append(contains(improvement(ours, theirs), truth))
    check_coverage(covered, slack=0.01)


def test_ties_count_half_and_certainty_is_never_claimed():
    ties = improvement([np.zeros(10)], [np.zeros(10)])
    wins = improvement([np.zeros(10)], [np.ones(10)])
    assert ties.value == 0.5
    assert ties.low < 0.5 < ties.high
    assert (wins.value, wins.high) == (1.0, 1.0)
    # Jeffreys' interval: the 2.5% quantile of Beta(10.5, 0.5); 1000 draws leave an error of about .01 there.
    assert wins.low == pytest.approx(stats.beta.ppf(0.025, 10.5, 0.5), abs=0.05)


def test_improvement_turns_round_with_its_arguments():
    rng = np.random.default_rng(9)
    ours, theirs = [rng.normal(size=9), rng.normal(size=7)], [rng.normal(size=9), rng.normal(size=7)]
    one, two = improvement(ours, theirs), improvement(theirs, ours)
    assert one.value == pytest.approx(1.0 - two.value, abs=1e-12)
    assert one.low == pytest.approx(1.0 - two.high, abs=0.03)  # two samples of 1000 draws


def test_profiles_cover_the_distribution():
    """Two worlds on scales 1 and 50 with exponential loss: the share below tau is 1 - exp(-tau) in both."""
    taus = np.array([0.3, 1.0, 2.0])
    rng, scales = np.random.default_rng(10), [1.0, 50.0]
    covered: list[list[bool]] = [[], [], []]
    for _ in range(SAMPLES // 2):
        lost = [scale * rng.exponential(size=20) for scale in scales]
        share, low, high = statistics.profile(lost, scales, taus)
        assert np.all((low <= share) & (share <= high))
        for place, truth in enumerate(1.0 - np.exp(-taus)):
            covered[place].append(bool(low[place] <= truth <= high[place]))
    for rate in covered:
        check_coverage(rate, slack=0.01)


def test_a_world_where_nobody_loses_is_kept_to_by_all():
    share, _, _ = statistics.profile([np.zeros(4), np.ones(4)], [0.0, 1.0], np.array([0.1, 1.0]))
    np.testing.assert_allclose(share, [0.5, 1.0])


# Growth


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
def test_the_growth_exponent_of_a_power_is_found(exponent: float):
    steps = np.arange(1, 2001)
    found = statistics.growth(steps, np.outer([1.0, 2.0, 5.0, 1.0, 2.0, 5.0], steps**exponent))
    np.testing.assert_allclose([found.value, found.low, found.high], exponent, atol=1e-10)


def test_it_does_not_matter_which_steps_were_recorded():
    every = np.arange(1, 10_001)
    some = np.unique(np.geomspace(1, 10_000, 300).astype(int))
    values = [
        statistics.growth(steps, np.array([(3.0 + 0.01 * steps) ** 0.7])).value for steps in (every, some)
    ]
    assert values[0] == pytest.approx(values[1], abs=0.01)


def test_growth_intervals_cover():
    """Trials lose a sqrt(t) + b t with random a, b: the truth is the fit to the mean curve, E a = 1, E b = .02."""
    steps = np.unique(np.geomspace(1, 2500, 200).astype(int))
    times = np.geomspace(50, 2500, 400)
    truth = float(np.polyfit(np.log(times), np.log(np.sqrt(times) + 0.02 * times), 1)[0])
    rng = np.random.default_rng(11)
    covered = []
    for _ in range(SAMPLES // 2):
        a, b = rng.exponential(1.0, (20, 1)), rng.exponential(0.02, (20, 1))
        covered.append(contains(statistics.growth(steps, a * np.sqrt(steps) + b * steps), truth))
    check_coverage(covered, slack=0.01)


@pytest.mark.parametrize(
    "curve",
    [np.zeros(1000), np.where(np.arange(1000) < 900, 0.0, 5.0)],
    ids=["nothing lost", "all at once near the end"],
)
def test_there_is_no_exponent_where_there_is_no_curve(curve: Floats):
    assert np.isnan(statistics.growth(np.arange(1, 1001), np.tile(curve, (3, 1))).value)


def test_trend_intervals_cover():
    """Regret is parameter^1.5 times noise of mean 1."""
    rng, parameter = np.random.default_rng(12), np.array([2.0, 4.0, 8.0, 16.0])
    covered = []
    for _ in range(SAMPLES):
        lost = [value**1.5 * rng.lognormal(-0.125, 0.5, 20) for value in parameter]
        covered.append(contains(statistics.trend(parameter, lost), 1.5))
    check_coverage(covered, slack=0.01)


@pytest.mark.parametrize(("parameter", "least"), [((0.0, 1.0), 1.0), ((1.0, 2.0), 0.0), ((2.0, 2.0), 1.0)])
def test_there_is_no_trend_without_two_positive_points(parameter: tuple[float, float], least: float):
    lost = [np.full(3, least), np.full(3, 5.0)]
    assert np.isnan(statistics.trend(np.array(parameter), lost).value)
