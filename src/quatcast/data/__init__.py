"""Recordings, and the sources that they come from.

A `Recording` holds the positions, orientations or poses of one or more channels over time. Recordings are simulated,
downloaded, read from a file, or loaded from a source that a user has registered. The rest of the library only uses
`Recording` and the registry of sources, and does not depend on the origin of a recording.
"""

from quatcast.data.broad_files import BROAD_CITATION, BROAD_URL, broad
from quatcast.data.chaos import chaotic
from quatcast.data.corruption import corrupt
from quatcast.data.extmarker_files import CITATION, extmarker
from quatcast.data.reading import read, read_all, read_csv
from quatcast.data.recording import Column, Recording
from quatcast.data.registry import Source, find_source, register_source, sources
from quatcast.data.simulation import simulated
from quatcast.data.style import FileStyle
from quatcast.data.timing import Timing
from quatcast.data.tumour_files import TUMOUR_CITATION, TUMOUR_URL, tumours
from quatcast.data.writing import write_csv

__all__ = [
    "BROAD_CITATION",
    "BROAD_URL",
    "CITATION",
    "TUMOUR_CITATION",
    "TUMOUR_URL",
    "Column",
    "FileStyle",
    "Recording",
    "Source",
    "Timing",
    "broad",
    "chaotic",
    "corrupt",
    "extmarker",
    "find_source",
    "read",
    "read_all",
    "read_csv",
    "register_source",
    "simulated",
    "sources",
    "tumours",
    "write_csv",
]
