"""The figure of a forecast, for browsers: one HTML file that opens offline."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs
from plotly.subplots import make_subplots

from quatcast.basics.escaping import embedded_json, figure_label, html_text
from quatcast.basics.files import new_file
from quatcast.basics.typing import Floats
from quatcast.evaluation.report.forecast_panels import ForecastPanels, Panel

PAGE = Template("""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>$title</title>
<style>html { overflow: hidden scroll } body { margin: 0; font-family: sans-serif; color: #2a3f5f }
h1 { font-size: 1.1rem; margin: 1rem 1rem 0; overflow-wrap: anywhere }</style></head>
<body><h1>$title</h1><div id="figure"><p>Drawing the figure needs a browser of 2023 or later.</p></div>
<script id="spec" type="application/json">$spec</script>
<script id="plotly" type="text/plain">$plotly</script>
<script>
(async () => {
  const text = (name) => document.getElementById(name).textContent;
  const packed = Uint8Array.from(atob(text("plotly")), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
  const spec = JSON.parse(text("spec"));
  document.getElementById("figure").replaceChildren();
  // On a narrow screen the buttons would cover the legend. One of them would send the data to a server.
  const buttons = matchMedia("(min-width: 700px)").matches ? "hover" : false;
  const config = { responsive: true, displaylogo: false, displayModeBar: buttons, showSendToCloud: false };
  await Plotly.newPlot("figure", spec.data, spec.layout, config);
  document.documentElement.dataset.drawn = "yes";
})();
</script></body></html>
""")


def draw(contents: ForecastPanels) -> go.Figure:
    """Draw the panels of a forecast with Plotly.

    Examples
    --------
    >>> draw(ForecastPanels("demo", [Panel("hip.x", "mm", [])])).layout.title.text
    'demo'
    """
    panels = contents.panels
    figure = make_subplots(len(panels), 1, shared_xaxes=True, vertical_spacing=0.15 / len(panels))
    named: set[str] = set()
    for row, panel in enumerate(panels, start=1):
        _draw(figure, panel, {"row": row, "col": 1}, named, contents.colour)
    figure.update_xaxes(title_text="time [s]", row=len(panels), col=1)
    figure.update_layout(
        template="plotly_white",
        title_text=figure_label(contents.title),
        height=120 + 190 * len(panels),
        hovermode="x unified",
        margin={"l": 70, "r": 20, "t": 90, "b": 50},
        legend={"orientation": "h", "yref": "container", "y": 1.0, "yanchor": "top", "x": 0.0, "xanchor": "left"},
    )
    return figure


def _draw(figure: go.Figure, panel: Panel, place: dict[str, int], named: set[str], colour: str) -> None:
    def legend(name: str) -> dict[str, Any]:
        first = name not in named
        named.add(name)
        return {"name": name, "legendgroup": name, "showlegend": first and name != "status"}

    if panel.band is not None:
        x, low, high = panel.band
        edge = {"mode": "lines", "line_width": 0, "hoverinfo": "skip"}
        shade = ", ".join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))
        fill = {"fill": "tonexty", "fillcolor": f"rgba({shade}, 0.18)"}
        hidden = {"showlegend": False, "legendgroup": "95% radius"}
        figure.add_trace(go.Scatter(x=x, y=_short(low), **hidden, **edge), **place)
        figure.add_trace(go.Scatter(x=x, y=_short(high), **fill, **edge, **legend("95% radius")), **place)
    for line in panel.lines:
        look: dict[str, Any] = {"color": line.colour, "width": 1.0 if line.dotted else 1.5}
        look |= {"shape": "hv"} if line.steps else {"dash": "dot"} if line.dotted else {}
        hover = "skip" if panel.ticks else None
        template = None if panel.ticks else f"%{{y:.4g}} {figure_label(panel.unit)}".rstrip()
        trace = go.Scatter(
            x=line.x,
            y=_short(line.y),
            mode="lines",
            line=look,
            hoverinfo=hover,
            hovertemplate=template,
            **legend(line.name),
        )
        figure.add_trace(trace, **place)
    figure.update_yaxes(title_text=figure_label(panel.label), **place)
    if panel.ticks:
        ticks = {"tickvals": list(range(len(panel.ticks))), "ticktext": list(panel.ticks)}
        figure.update_yaxes(range=[-0.4, len(panel.ticks) - 0.6], **ticks, **place)


def _short(values: Floats) -> np.ndarray:
    """Return single-precision numbers, which take half the space in a file."""
    return np.asarray(values, dtype=np.float32)


def write_html(figure: go.Figure, path: Path, title: str) -> None:
    """Write a figure to an HTML file that opens offline; the script of Plotly is compressed in it."""
    plotly = base64.b64encode(gzip.compress(get_plotlyjs().encode(), mtime=0)).decode()
    spec = json.loads(figure.to_json())
    # The heading of the page is wrapped on a narrow screen, which the title of a figure is not.
    spec["layout"].pop("title", None)
    page = PAGE.substitute(title=html_text(title), spec=embedded_json(spec), plotly=plotly)
    with new_file(path) as file:
        file.write(page)
