"""The view: forecasts of the live service in a browser.

`feed` collects forecasts and hands them to viewers, `rows` is the binary form in which they travel, `statistics` scores
forecasts whose time has come, and `server` serves the page in the folder `page`. Only `server` needs the extra `live`.
"""
