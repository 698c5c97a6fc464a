"""Checks of learners, forecasters and data sources, for those of this library and for yours.

Each of `check_learner`, `check_forecaster` and `check_source` runs a list of small checks and raises an AssertionError
that says which promise was broken and what happened instead. The lists are public too, so that a test runner can run
every check as a test of its own::

    @pytest.mark.parametrize("check", learner_checks(), ids=lambda check: check.__name__)
    def test_my_learner(check):
        check(MyLearner, learner_samples(MyLearner))
"""

from quatcast.testing.bursts import with_burst
from quatcast.testing.forecasters import check_forecaster, forecaster_checks, smooth_positions
from quatcast.testing.learners import check_learner, check_runs, learner_checks, learner_samples
from quatcast.testing.random_bursts import random_burst
from quatcast.testing.sources import check_source, source_checks
from quatcast.testing.tools import fingerprint

__all__ = [
    "check_forecaster",
    "check_learner",
    "check_runs",
    "check_source",
    "fingerprint",
    "forecaster_checks",
    "learner_checks",
    "learner_samples",
    "random_burst",
    "smooth_positions",
    "source_checks",
    "with_burst",
]
