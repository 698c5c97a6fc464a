"""What every part of the library may use: types of arrays, checks of values, limits, escaping of names, registries."""
