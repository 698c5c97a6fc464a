"""Forecasters: how a signal becomes inputs and targets of learners, and how forecasts are combined."""
