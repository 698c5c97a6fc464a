"""Where signals come from: published recordings, simulated breathing, chaos, and text tables.

Every source gives `Recording`, and nothing else of the library knows where a recording came from.
"""

from quatcast.data.chaotic import chaotic
from quatcast.data.corrupt import corrupt
from quatcast.data.extmarker import CITATION, extmarker
from quatcast.data.recording import Recording
from quatcast.data.simulated import simulated
from quatcast.data.tables import read_csv, write_csv

__all__ = ["CITATION", "Recording", "chaotic", "corrupt", "extmarker", "read_csv", "simulated", "write_csv"]
