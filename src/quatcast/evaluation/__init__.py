"""Compare predictors on recordings: metrics, the published protocol, a store of results, tables and the report."""

from quatcast.evaluation.metrics import Estimate, Scores, estimate, pool, score
from quatcast.evaluation.store import Result, Store, Timing, Trace

__all__ = ["Estimate", "Result", "Scores", "Store", "Timing", "Trace", "estimate", "pool", "score"]
