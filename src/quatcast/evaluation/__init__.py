"""Comparing predictors on recordings: metrics, the catalogue of predictors, experiments, their store and the report."""

# These two register the built-in predictors.
import quatcast.evaluation.builtin
import quatcast.evaluation.classical  # noqa: F401
from quatcast.evaluation import report
from quatcast.evaluation.catalogue import CATALOGUE, Batch, Predictor, find_predictor, predictors, register_predictor
from quatcast.evaluation.metrics import Estimate, GeodesicScores, Scores, estimate, pool, score, score_orientations
from quatcast.evaluation.records import Result, Timing, Trace
from quatcast.evaluation.run.cluster import dask
from quatcast.evaluation.run.execution import Workers, local
from quatcast.evaluation.run.experiment import compare
from quatcast.evaluation.run.recordings import load
from quatcast.evaluation.run.settings import Settings
from quatcast.evaluation.store import Store

__all__ = [
    "CATALOGUE",
    "Batch",
    "Estimate",
    "GeodesicScores",
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
    "find_predictor",
    "load",
    "local",
    "pool",
    "predictors",
    "register_predictor",
    "report",
    "score",
    "score_orientations",
]
