"""Logs of the live service on standard error: one line of text or one JSON object per event."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from quatcast.basics.escaping import one_line

_FIELDS = ("stream", "kind")
"""Fields of a record that a JSON log contains beside the usual ones."""


class JsonFormatter(logging.Formatter):
    """Writes a log record as a JSON object.

    Parameters
    ----------
    stream
        Name of the stream of records that name none; empty if there is none.

    Examples
    --------
    >>> record = logging.LogRecord("quatcast.live", logging.INFO, "", 0, "%d samples", (3,), None)
    >>> record.created = 0.0
    >>> JsonFormatter().format(record)
    '{"time": "1970-01-01T00:00:00.000+00:00", "level": "info", "logger": "quatcast.live", "message": "3 samples"}'
    """

    def __init__(self, stream: str = "") -> None:
        super().__init__()
        self.stream = stream

    def format(self, record: logging.LogRecord) -> str:
        """Return the JSON text of a record."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        content = {
            "time": moment,
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        content |= {"stream": self.stream} if self.stream else {}
        content |= {name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}
        if record.exc_info:
            content["error"] = self.formatException(record.exc_info)
        return json.dumps(content, ensure_ascii=False)


def set_up(form: str, stream: str = "", *, named: bool = False) -> None:
    """Send the logs of quatcast to standard error.

    Parameters
    ----------
    form
        "text" or "json".
    stream
        Name of the stream; empty if there are several.
    named
        Whether lines of text begin with the name, because other streams write to the same log.
    """
    if form not in ("text", "json"):
        raise ValueError(f"--log: expected text or json, got {form!r}")
    handler = logging.StreamHandler(sys.stderr)
    name = one_line(stream).replace("%", "%%") + ": " if named else ""
    text = logging.Formatter(f"quatcast live: {name}%(message)s")
    handler.setFormatter(JsonFormatter(stream) if form == "json" else text)
    logger = logging.getLogger("quatcast")
    logger.handlers[:] = [handler]
    logger.propagate = False
    logger.setLevel(logging.INFO)
    # What the loop reports, such as an error in a task that nobody awaits.
    logging.getLogger("asyncio").handlers[:] = [handler]
