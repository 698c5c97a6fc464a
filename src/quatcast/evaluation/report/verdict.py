"""The conclusions of a test in words, as HTML."""

from __future__ import annotations

import math
from typing import NamedTuple

from quatcast.basics.escaping import html_text
from quatcast.evaluation.catalogue import describe
from quatcast.evaluation.metrics import Estimate
from quatcast.evaluation.report.overview import join
from quatcast.evaluation.summary import ALL, LABELS, RMSE, Summary
from quatcast.forecasting.contract import Labels


class LookaheadGap(NamedTuple):
    """The RMSE of a predictor under both label rules."""

    predictor: str
    causal: float
    lookahead: float

    @property
    def factor(self) -> float:
        """Causal RMSE divided by look-ahead RMSE."""
        return self.causal / self.lookahead

    def text(self, summary: Summary) -> str:
        """Return the gap as a factor and as a difference."""
        return f"a factor of {self.factor:.1f}, or {_amount(summary, self.causal - self.lookahead)}"


def lookahead_gaps(summary: Summary) -> list[LookaheadGap]:
    """Return the gap of every predictor that learns and was tested under both rules, the largest factor first."""
    gaps = []
    for name in summary.predictors:
        causal, lookahead = (summary.of_group(rule, summary.horizon, name) for rule in LABELS)
        if describe(name).baseline or not causal or not lookahead:
            continue
        if lookahead.mean > 0 and not math.isnan(causal.mean + lookahead.mean):
            gaps.append(LookaheadGap(name, causal.mean, lookahead.mean))
    return sorted(gaps, key=lambda gap: -gap.factor)


def best_gap(summary: Summary) -> LookaheadGap:
    """Return the gap between the best causal predictor and the best one with look-ahead labels."""
    return LookaheadGap("", *(summary.ranking(rule, summary.horizon)[0][1].mean for rule in LABELS))


def paragraphs(summary: Summary) -> list[str]:
    """Return the conclusions as paragraphs, the most important first."""
    texts = [_best(summary, rule) for rule in summary.labels]
    texts += [_gap(summary), _diverged(summary)]
    return [text for text in texts if text]


def cards(summary: Summary) -> str:
    """Return one card per label rule with the best predictor of each group, and one card with the look-ahead gap."""
    best = [_card(summary, rule) for rule in summary.labels if summary.ranking(rule, summary.horizon)]
    return "".join([*best, _gap_card(summary)])


def _gap_card(summary: Summary) -> str:
    gaps = lookahead_gaps(summary)
    if not gaps:
        return ""
    named = {"best predictors": best_gap(summary), f"largest: {html_text(gaps[0].predictor)}": gaps[0]}
    named |= {f"smallest: {html_text(gaps[-1].predictor)}": gaps[-1]} if len(gaps) > 1 else {}
    rows = "".join(
        f"<tr><th scope='row'>{title}</th><td class='n'>× {gap.factor:.1f}</td>"
        f"<td class='n'>{_amount(summary, gap.causal - gap.lookahead)}</td></tr>"
        for title, gap in named.items()
    )
    return (
        "<div class='card gap'><h3>Look-ahead gap</h3>"
        "<p class='hint'>causal RMSE relative to look-ahead RMSE</p>"
        f"<table><tbody>{rows}</tbody></table></div>"
    )


def _card(summary: Summary, rule: Labels) -> str:
    rows = []
    for group in summary.groups:
        ranking = summary.ranking(rule, summary.horizon, group)
        if ranking:
            name, best = ranking[0]
            rows.append(
                f"<tr><th scope='row'>{html_text(group)}</th><td>{html_text(name)}</td>"
                f"<td class='n'>{_mean(summary, best, len(summary.members(group)))}</td></tr>"
            )
    hint = "as in a live system" if rule == "causal" else "impossible in a live system"
    return (
        f"<div class='card {rule}'><h3>Best with {LABELS[rule]}</h3><p class='hint'>{hint}</p>"
        f"<table><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _best(summary: Summary, rule: Labels) -> str:
    ranking = summary.ranking(rule, summary.horizon)
    if not ranking:
        return ""
    name, best = ranking[0]
    count = len(summary.members(ALL))
    where = f"over all {count} recordings" if count > 1 else "on the only recording"
    text = (
        f"<b>With {LABELS[rule]}, {html_text(name)} is best</b> {where}, {summary.horizon:g} s ahead, with a test "
        f"RMSE of {_mean(summary, best, count)}{_winners(summary, rule, name)}."
    )
    baseline = next(((other, mean.mean) for other, mean in ranking if describe(other).baseline), None)
    if baseline is None:
        return text
    still, rmse = baseline
    if name == still:
        return f"{text} <b>No predictor is better than {html_text(still)}</b>, the forecast that nothing moves."
    worse = [html_text(other) for other, mean in ranking if mean.mean > rmse]
    more = f" {join(worse)} {'is' if len(worse) == 1 else 'are'} worse than {html_text(still)}." if worse else ""
    return (
        f"{text} Its error is smaller than that of {html_text(still)} ({_amount(summary, rmse)}), the forecast that "
        f"nothing moves, by a factor of {rmse / best.mean:.1f}.{more}"
    )


def _winners(summary: Summary, rule: Labels, name: str) -> str:
    """Return the best predictors of single groups where they differ from the best one overall."""
    others = []
    for group in summary.groups[1:]:
        ranking = summary.ranking(rule, summary.horizon, group)
        if ranking and ranking[0][0] != name:
            best, mean = ranking[0]
            others.append(f"{html_text(best)} on the {html_text(group)} recordings ({_amount(summary, mean.mean)})")
    return f"; best in single groups: {' and '.join(others)}" if others else ""


def _gap(summary: Summary) -> str:
    gaps = lookahead_gaps(summary)
    if not gaps:
        return ""
    largest, smallest = gaps[0], gaps[-1]
    rmse = (
        f"{html_text(largest.predictor)} has an RMSE of {_amount(summary, largest.lookahead)} with look-ahead labels "
        f"and {_amount(summary, largest.causal)} with causal labels"
    )
    if largest.factor <= 1.0:
        return f"<b>Look-ahead labels do not reduce the error here:</b> {rmse}."
    text = (
        f"<b>Look-ahead labels make errors look smaller than a live system can achieve.</b> A predictor then learns "
        f"from targets {summary.horizon:g} s before they arrive. {rmse}: {largest.text(summary)}."
    )
    if len(gaps) > 1:
        best = best_gap(summary)
        text += (
            f" For {html_text(smallest.predictor)} the factor is {smallest.factor:.1f}. The best predictor with "
            f"look-ahead labels has {_amount(summary, best.lookahead)}, the best with causal labels "
            f"{_amount(summary, best.causal)}: {best.text(summary)}."
        )
    return text


def _diverged(summary: Summary) -> str:
    runs = [result for result in summary.results if result.horizon == summary.horizon]
    diverged = [result for result in runs if result.diverged]
    if not diverged:
        return f"<b>None of {len(runs):,} test runs diverged.</b>"
    who = join(sorted({f"{html_text(result.predictor)} ({LABELS[result.labels]})" for result in diverged}))
    verb = "is" if len(diverged) == 1 else "are"
    count = f"<b>{len(diverged):,} of {len(runs):,} test runs diverged</b>"
    return f"{count} and {verb} excluded from the means: {who}."


def _amount(summary: Summary, value: float) -> str:
    return html_text(summary.amount(value))


def _mean(summary: Summary, mean: Estimate, recordings: int) -> str:
    few = summary.few_decimals
    decimals = RMSE.decimals if few == RMSE.decimals - 1 else few
    unit = f"&nbsp;{html_text(summary.unit)}" if summary.unit else ""
    margin = f" <span class='pm'>± {mean.margin:.{decimals}f}</span>" if mean.runs > recordings else ""
    return f"<span class='amount'>{mean.mean:.{decimals}f}{margin}{unit}</span>"
