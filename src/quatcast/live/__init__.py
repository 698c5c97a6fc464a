"""The live service: samples in from a tracker, forecasts out, a view in the browser, nothing lost."""
