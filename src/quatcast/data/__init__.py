"""Where signals come from: published recordings, simulated breathing, chaos, and text tables.

Every source gives `Recording`, and nothing else of the library knows where a recording came from.
"""

from quatcast.data.chaos import chaotic
from quatcast.data.corruption import corrupt
from quatcast.data.csv_files import read_csv, write_csv
from quatcast.data.extmarker_files import CITATION, extmarker
from quatcast.data.recording import Recording
from quatcast.data.simulation import simulated

__all__ = ["CITATION", "Recording", "chaotic", "corrupt", "extmarker", "read_csv", "simulated", "write_csv"]
