"""Running an experiment: its settings, recordings, plan of jobs, workers and timings."""
