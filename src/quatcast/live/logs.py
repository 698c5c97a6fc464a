"""Logs of the live service on standard error: one line of text or one JSON object per event."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

_FIELDS = ("stream", "kind")
"""Fields of a record that a JSON log contains beside the usual ones."""


class JsonFormatter(logging.Formatter):
    """Writes a log record as a JSON object.

    Examples
    --------
    >>> record = logging.LogRecord("quatcast.live", logging.INFO, "", 0, "%d samples", (3,), None)
    >>> record.created = 0.0
    >>> JsonFormatter().format(record)
    '{"time": "1970-01-01T00:00:00.000+00:00", "level": "info", "logger": "quatcast.live", "message": "3 samples"}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the JSON text of a record."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        content = {
            "time": moment,
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        content |= {name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}
        if record.exc_info:
            content["error"] = self.formatException(record.exc_info)
        return json.dumps(content, ensure_ascii=False)


def set_up(form: str) -> None:
    """Send the logs of quatcast to standard error, as "text" or "json"."""
    if form not in ("text", "json"):
        raise ValueError(f"--log: expected text or json, got {form!r}")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else logging.Formatter("quatcast live: %(message)s"))
    logger = logging.getLogger("quatcast")
    logger.handlers[:] = [handler]
    logger.propagate = False
    logger.setLevel(logging.INFO)
