"""Messages of errors for users."""

from __future__ import annotations

OS_ERRORS: dict[type[OSError], str] = {
    FileNotFoundError: "there is no such file or folder",
    FileExistsError: "is a file, not a folder",
    NotADirectoryError: "is inside a file, not inside a folder",
    IsADirectoryError: "is a folder, not a file",
}
"""Messages for errors of the operating system."""


def message_of(error: Exception) -> str:
    """Return the message of an error; that of the operating system without its number.

    Examples
    --------
    >>> message_of(OSError(28, "No space left on device"))
    'no space left on device'
    >>> message_of(FileNotFoundError(2, "No such file or directory", "walk.csv"))
    'walk.csv: there is no such file or folder'
    """
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    told = OS_ERRORS.get(type(error), error.strerror.lower())
    return told if error.filename is None else f"{error.filename}: {told}"
