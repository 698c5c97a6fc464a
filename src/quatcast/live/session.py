"""A session: the folder in which the frames, forecasts and checkpoints of one stream are kept, and how it is continued.

    SESSION/
      session.json                      settings of the stream
      journal-000000000001.jsonl        frames, forecasts and events; named after the first frame in it
      checkpoint-000000000812.quatcast  the state after frame 812
      lock                              held by the process that writes

The state of a session follows from the newest checkpoint that can be read and the frames of the journal after it.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from quatcast.checkpoint import Snapshot, read
from quatcast.live.clock import now
from quatcast.live.frames import ForecastFrame, Frame
from quatcast.live.journal import ROTATE, Journal, Reading, is_in_place, journal_files, read_journal
from quatcast.live.pipeline import Pipeline
from quatcast.live.records import event_line, forecast_line, frame_line, newest, read_frames
from quatcast.live.settings import LiveSettings

try:
    import fcntl
except ImportError:  # pragma: no cover - on Windows two processes are not kept apart
    fcntl = None  # type: ignore[assignment]

KEPT = 2
"""Number of checkpoints that are kept."""
VERSION = 1
"""Version of the folder."""
LOCK = "lock"
"""Name of the file that the process that writes holds."""
_CHECKPOINT = re.compile(r"checkpoint-(\d{12})\.quatcast")


@dataclass
class Recovery:
    """How a session was continued.

    Attributes
    ----------
    checkpoint
        Number of frames in the checkpoint; 0 without one.
    replayed
        Number of frames that were taken from the journal.
    missing
        Number of frames of the journal that could not be read.
    reading
        Lines of the journal that could not be read.
    refused
        Checkpoints that could not be used, and why.
    last
        The newest frame.
    """

    checkpoint: int = 0
    replayed: int = 0
    missing: int = 0
    reading: Reading = field(default_factory=Reading)
    refused: tuple[str, ...] = ()
    last: Frame | None = None

    def words(self) -> list[str]:
        """Return in words what was found, one sentence each; nothing for a new session."""
        said = [f"a checkpoint cannot be used: {why}" for why in self.refused]
        if self.checkpoint or self.replayed:
            said.append(f"continued after frame {self.checkpoint + self.replayed}, {self.replayed} from the journal")
        if self.reading.torn:
            said.append(f"{self.reading.torn} lines at the end of a journal file were cut off, as a kill leaves them")
        if damaged := self.reading.damaged:
            said.append(f"{len(damaged)} lines of the journal are damaged ({self.reading.shown()})")
        if self.missing:
            said.append(f"{self.missing} frames are missing in the journal: forecasts go on without them")
        return said


def is_session(folder: Path) -> bool:
    """Return whether a folder holds a session."""
    return (folder / "session.json").is_file()


def read_settings(folder: Path) -> LiveSettings:
    """Return the settings of a session.

    Raises
    ------
    ValueError
        If the folder holds no session, or its description is damaged.
    """
    path = folder / "session.json"
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
        if described["version"] != VERSION:
            raise ValueError(f"version {described['version']}")
        return LiveSettings.from_json(described["settings"])
    except FileNotFoundError:
        raise ValueError(f"{folder}: expected the folder of a live session; there is no {path.name} in it") from None
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: expected the description of a live session of version {VERSION}: {error}") from None


def checkpoints(folder: Path) -> list[tuple[int, Path]]:
    """Return number of frames and path of the checkpoints of a session, the newest first."""
    found = []
    for path in folder.iterdir() if folder.is_dir() else ():
        if match := _CHECKPOINT.fullmatch(path.name):
            found.append((int(match[1]), path))
    return sorted(found, reverse=True)


class Session:
    """The folder of one stream while it is written.

    Nothing that happens to the folder while the stream runs raises an error: problems are reported, and the stream goes
    on.

    Parameters
    ----------
    folder
        Where to write; made if it does not exist.
    settings
        Settings of the stream. A folder that holds a session with other settings is refused.
    trouble
        Called with a text when something cannot be written, and when it can again.
    rotate
        Size in bytes from which on a new file of the journal is begun.

    Attributes
    ----------
    failing
        Whether the last attempt to write a checkpoint failed.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> with TemporaryDirectory() as folder:
    ...     pipeline = Pipeline(LiveSettings(rate=10.0))
    ...     session = Session(Path(folder), pipeline.settings, print)
    ...     _ = session.recover(pipeline)
    ...     session.record_frame(Frame("chest", 0, 0.0, 500.0, np.ones((1, 3))), 1)
    ...     session.close()
    ...     again = Session(Path(folder), pipeline.settings, print)
    ...     recovery = again.recover(pipeline)
    ...     again.close()
    >>> recovery.replayed, pipeline.frames
    (1, 1)
    """

    def __init__(
        self, folder: Path, settings: LiveSettings, trouble: Callable[[str], None], rotate: int = ROTATE
    ) -> None:
        self.folder, self.settings, self.trouble = folder, settings, trouble
        self._unreadable = set[Path]()
        folder.mkdir(parents=True, exist_ok=True)
        self.journal = Journal(folder, trouble, rotate)
        self._lock: int | None = _lock(folder)
        try:
            self._describe()
        except BaseException:
            self.close()
            raise
        self._told: tuple[tuple[str, ...], str] | None = None
        self._saving: asyncio.Task[None] | None = None
        self.failing = self._contested = False

    def _describe(self) -> None:
        """Write the settings, or compare them with those of the session that is there."""
        begun = bool(journal_files(self.folder) or checkpoints(self.folder))
        if is_session(self.folder):
            differences = "; ".join(self.settings.differences(read_settings(self.folder)))
            if differences and begun:
                raise ValueError(
                    f"{self.folder}: holds a session with other settings ({differences}); give another folder"
                )
            if not differences:
                return
        elif begun:
            raise ValueError(f"{self.folder}: holds a journal without session.json; give another folder")
        self._write_description()

    def _write_description(self) -> None:
        text = json.dumps({"version": VERSION, "settings": self.settings.to_json()}, indent=2)
        temporary = self.folder / ".session.json.part"
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.folder / "session.json")

    def recover(self, pipeline: Pipeline) -> Recovery:
        """Bring a new pipeline to where the session was, and open the journal."""
        recovery = Recovery()
        self._load(pipeline, recovery)
        recovery.checkpoint = pipeline.frames
        added = self._replay(pipeline, recovery)
        self.journal.open(pipeline.frames + 1)
        for line in added:
            self.journal.append(line)
        return recovery

    def _load(self, pipeline: Pipeline, recovery: Recovery) -> None:
        """Load the newest checkpoint that can be read."""
        for _, path in checkpoints(self.folder):
            try:
                pipeline.restore(read(path))
                return
            except (ValueError, OSError) as error:
                self._unreadable.add(path)
                recovery.refused += (str(error) if path.name in str(error) else f"{path}: {error}",)

    def _replay(self, pipeline: Pipeline, recovery: Recovery) -> list[bytes]:
        """Take in the frames of the journal after the checkpoint, and return the forecasts that it does not hold."""
        first = pipeline.frames
        known = {
            record["seq"]: (not record.get("unlearnt", False), record.get("limit"))
            for record in read_journal(self.folder, first)
            if record.get("type") == "forecast" and record["n"] > first
        }
        added: list[bytes] = []
        for number, frame in read_frames(read_journal(self.folder, first, recovery.reading)):
            if number <= pipeline.frames:
                recovery.last = frame
                continue
            recovery.missing += number - pipeline.frames - 1
            pipeline.frames = number - 1
            recovery.last, recovery.replayed = frame, recovery.replayed + 1
            for sample in pipeline.take(frame).samples:
                forecast = pipeline.forecast(sample)
                learnt, limit = known.get(sample.number, (True, None))
                if learnt:
                    pipeline.learn(limit)
                if sample.number not in known:
                    answer = pipeline.to_frame(forecast, sample, now())
                    added.append(forecast_line(answer, number, recovered=True))
        if recovery.last is None and (last := newest(self.folder, read_frames)) is not None:
            recovery.last = last[1]
        return added

    def record_frame(self, frame: Frame, number: int) -> None:
        """Write a frame to the journal before anything is made of it."""
        named = (frame.names, frame.unit)
        line = frame_line(frame, number, names=named != self._told)
        self.journal.append(line, number, partial(frame_line, frame, number, names=True))
        self._told = named

    def record_forecast(self, forecast: ForecastFrame, number: int, limit: int | None = None, **marks: bool) -> None:
        """Write a forecast to the journal; see `forecast_line`."""
        self.journal.append(forecast_line(forecast, number, limit, **marks))

    def record_event(self, kind: str, text: str, number: int, **more: Any) -> None:
        """Write an event to the journal."""
        self.journal.append(event_line(kind, text, now(), number, **more))

    async def tend(self) -> None:
        """Write what has been waiting and flush to the disk; called about once per second."""
        self.journal.retry()
        self._hold_again()
        await asyncio.to_thread(self.journal.sync)

    def _hold_again(self) -> None:
        """Keep other processes out of a folder that was removed and has been made again."""
        if self._lock is None or is_in_place(self._lock, self.folder / LOCK):
            return
        try:
            lock = _lock(self.folder)
        except BlockingIOError as error:
            if not self._contested:
                self.trouble(f"{error}: the folder was removed, and both write to it now")
            self._contested = True
        except OSError:
            pass  # the journal tells that the folder cannot be written
        else:
            os.close(self._lock)
            self._lock, self._contested = lock, False

    @property
    def saving(self) -> bool:
        """Whether a checkpoint is being written."""
        return self._saving is not None and not self._saving.done()

    def begin_checkpoint(self, pipeline: Pipeline) -> None:
        """Copy the state of the pipeline now, and write it while the stream goes on; call it between two samples."""
        if not self.saving:
            # Lines that are lost from now on need another checkpoint.
            interrupted, self.journal.interrupted = self.journal.interrupted, False
            self._saving = asyncio.create_task(self._save(Snapshot(pipeline.tree()), pipeline.frames, interrupted))

    async def _save(self, snapshot: Snapshot, frames: int, interrupted: bool) -> None:
        for _ in snapshot.pack():
            await asyncio.sleep(0)
        self._report(await asyncio.to_thread(self._write, snapshot, frames))
        if self.failing:
            self.journal.interrupted |= interrupted

    def checkpoint(self, pipeline: Pipeline) -> None:
        """Write a checkpoint at once, at the end of the stream."""
        self._report(self._write(Snapshot(pipeline.tree(), copy=False), pipeline.frames))

    async def finish_saving(self) -> None:
        """Wait until a checkpoint that is being written is finished."""
        if self._saving is not None:
            await self._saving

    def _write(self, snapshot: Snapshot, frames: int) -> Exception | None:
        """Write a checkpoint, and only then remove those that it replaces; return the error if it fails.

        It may run in a thread, and therefore tells nobody itself.
        """
        path = self.folder / f"checkpoint-{frames:012d}.quatcast"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not is_session(self.folder):
                self._write_description()
            snapshot.write(path)
            readable = [one for _, one in checkpoints(self.folder) if one not in self._unreadable]
            for old in readable[KEPT:]:
                old.unlink(missing_ok=True)
        except (OSError, ValueError) as error:
            return error
        return None

    def _report(self, error: Exception | None) -> None:
        """Tell that checkpoints cannot be written any more, or that they can again."""
        if error is not None:
            if not self.failing:
                self.trouble(f"no checkpoint can be written ({error}): the stream goes on, earlier checkpoints stay")
            self.failing = True
            return
        if self.failing:
            self.trouble("checkpoints can be written again")
        self.failing = False

    def close(self) -> None:
        """Close the journal and release the folder; may be called again."""
        self.journal.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _lock(folder: Path) -> int:
    """Hold the folder for this process; the system releases it whatever happens to the process."""
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        # The settings are not wrong, so that the supervisor tries again.
        raise BlockingIOError(
            f"{folder}: another process writes this session; stop it or give another folder"
        ) from None
    return descriptor
