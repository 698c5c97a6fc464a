"""Safety: faulty samples, the radius and the status of a forecast, and the guarded forecaster that we recommend."""
