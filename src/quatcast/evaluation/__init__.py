"""Compare predictors on recordings: metrics, the published protocol, a store of results, tables and the report."""

from quatcast.evaluation.execution import Workers, dask, local
from quatcast.evaluation.metrics import Estimate, Scores, estimate, pool, score
from quatcast.evaluation.predictors import CATALOGUE, Batch, Predictor
from quatcast.evaluation.protocol import compare
from quatcast.evaluation.settings import Settings
from quatcast.evaluation.sources import load
from quatcast.evaluation.store import Result, Store, Timing, Trace

__all__ = [
    "CATALOGUE",
    "Batch",
    "Estimate",
    "Predictor",
    "Result",
    "Scores",
    "Settings",
    "Store",
    "Timing",
    "Trace",
    "Workers",
    "compare",
    "dask",
    "estimate",
    "load",
    "local",
    "pool",
    "score",
]
