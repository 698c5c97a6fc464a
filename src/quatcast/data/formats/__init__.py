"""File formats, one module each. All have `recognises(head)` and `read(path, options)`, which returns `Contents`."""
