"""What every part of the library may use: checks of values, limits on memory, escaping of names, registries."""
