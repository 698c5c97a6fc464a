"""The live service: samples in from a tracker, forecasts out, a view in the browser, nothing lost.

`serve` runs a `StreamPlan`, which is what the command ``quatcast live`` does. `Service` runs a source, sinks and a
pipeline that a program has made itself. The modules, in the order of a sample's way:

- `frames`, `messages`, `fields`, `checksums`: what travels, and its form as text. `transports`: how it travels.
- `shapes`, `labels`, `rate`, `clock`, `clock_choice`, `clock_speed`, `grid`: from irregular frames to one sample
  per period.
- `pipeline`, `service`: from samples to forecasts. `learning`, `latency`, `lateness`, `silence`, `checkpointing`,
  `totals`, `tasks`: parts of them.
- `journal`, `records`, `session`: what is stored. `replay`, `summary`, `report`, `export`, `xdf`: what is made of it.
- `run`, `supervisor`: one stream or several as processes. `settings`, `addresses`, `metrics`, `logs`, `systemd` and
  `view`: their options and their surroundings.
"""

from __future__ import annotations

from quatcast.live.clock import DeviceClock, now
from quatcast.live.export import export_session
from quatcast.live.frames import ForecastFrame, Frame, FrameError, PathPoint
from quatcast.live.grid import Grid, GridSample
from quatcast.live.messages import parse_forecast, parse_sample
from quatcast.live.metrics import Metrics
from quatcast.live.pipeline import Pipeline
from quatcast.live.replay import replay_session
from quatcast.live.run import StreamPlan, ViewAddress, serve
from quatcast.live.service import Service
from quatcast.live.session import Session
from quatcast.live.settings import LiveSettings
from quatcast.live.summary import summarise
from quatcast.live.totals import Summary
from quatcast.live.transports import Sink, Source, open_sink, open_source, register_transport
from quatcast.live.view.feed import ViewFeed
from quatcast.live.view.rows import RowLayout, pack_row, unpack_rows

__all__ = [
    "DeviceClock",
    "ForecastFrame",
    "Frame",
    "FrameError",
    "Grid",
    "GridSample",
    "LiveSettings",
    "Metrics",
    "PathPoint",
    "Pipeline",
    "RowLayout",
    "Service",
    "Session",
    "Sink",
    "Source",
    "StreamPlan",
    "Summary",
    "ViewAddress",
    "ViewFeed",
    "export_session",
    "now",
    "open_sink",
    "open_source",
    "pack_row",
    "parse_forecast",
    "parse_sample",
    "register_transport",
    "replay_session",
    "serve",
    "summarise",
    "unpack_rows",
]
