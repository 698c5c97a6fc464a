"""What came out, in words."""

from __future__ import annotations

import math
from html import escape
from typing import NamedTuple

from quatcast.evaluation.metrics import Estimate
from quatcast.evaluation.summary import ALL, LABELS, Summary
from quatcast.forecasting.forecaster import Labels

STILL = "persistence"


class Flattery(NamedTuple):
    """How much better a predictor looks when it learns from targets that have not arrived."""

    predictor: str
    causal: float
    lookahead: float

    @property
    def factor(self) -> float:
        """Causal RMSE over look-ahead RMSE."""
        return self.causal / self.lookahead


def flattery(summary: Summary) -> list[Flattery]:
    """Flattery of every predictor that was tested under both rules, the most flattered first."""
    pairs = {
        name: [summary.of_group(rule, summary.horizon, name) for rule in LABELS]
        for name in summary.predictors
        if name != STILL
    }
    found = [
        Flattery(name, causal.mean, lookahead.mean)
        for name, (causal, lookahead) in pairs.items()
        if causal and lookahead and lookahead.mean > 0 and not math.isnan(causal.mean + lookahead.mean)
    ]
    return sorted(found, key=lambda one: -one.factor)


def best_against_best(summary: Summary) -> Flattery:
    """The best causal predictor against the best with look-ahead labels."""
    live, ahead = (summary.ranking(rule, summary.horizon)[0][1].mean for rule in LABELS)
    return Flattery("", live, ahead)


def paragraphs(summary: Summary) -> list[str]:
    """The verdict as paragraphs of HTML, the most important first."""
    said = [_best(summary, rule) for rule in summary.labels]
    said += [_flattery(summary), _diverged(summary)]
    return [text for text in said if text]


def cards(summary: Summary) -> str:
    """Best predictor of each group, one card a label rule, and one on how much looking ahead flatters."""
    shown = [_card(summary, rule) for rule in summary.labels if summary.ranking(rule, summary.horizon)]
    return "".join([*shown, _flattery_card(summary)])


def _flattery_card(summary: Summary) -> str:
    found = flattery(summary)
    if not found:
        return ""
    named = {"best against best": best_against_best(summary)}
    named |= {f"most: {escape(found[0].predictor)}": found[0]}
    named |= {f"least: {escape(found[-1].predictor)}": found[-1]} if len(found) > 1 else {}
    rows = "".join(
        f"<tr><th scope='row'>{title}</th><td class='n'>× {one.factor:.1f}</td>"
        f"<td class='n'>{one.causal - one.lookahead:.2f} mm</td></tr>"
        for title, one in named.items()
    )
    return (
        "<div class='card flattery'><h3>Looking ahead flatters by</h3>"
        "<p class='hint'>RMSE, causal against look-ahead labels</p>"
        f"<table><tbody>{rows}</tbody></table></div>"
    )


def _card(summary: Summary, rule: Labels) -> str:
    rows = []
    for group in summary.groups:
        ranking = summary.ranking(rule, summary.horizon, group)
        if ranking:
            name, best = ranking[0]
            rows.append(
                f"<tr><th scope='row'>{escape(group)}</th><td>{escape(name)}</td>"
                f"<td class='n'>{_amount(best, len(summary.members(group)))}</td></tr>"
            )
    hint = "what a live system can do" if rule == "causal" else "as published; no live system can do it"
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
    where = f"over all {count} recordings" if count > 1 else "on the one recording"
    text = (
        f"<b>With {LABELS[rule]}, {escape(name)} is best</b> {where}, {summary.horizon:g} s ahead: test RMSE "
        f"{_amount(best, count)}{_winners(summary, rule, name)}."
    )
    still = dict(ranking).get(STILL)
    if still is None:
        return text
    if name == STILL:
        return f"{text} <b>Nothing beats persistence</b>, which says that nothing moves."
    beaten = [other for other, one in ranking if one.mean > still.mean]
    worse = f" {_list(beaten)} {'does' if len(beaten) == 1 else 'do'} worse than that." if beaten else ""
    return (
        f"{text} It beats persistence ({still.mean:.2f} mm), which says that nothing moves, by a factor of "
        f"{still.mean / best.mean:.1f}.{worse}"
    )


def _winners(summary: Summary, rule: Labels, name: str) -> str:
    """Who is best in the single groups, where that is not the winner of all."""
    others = []
    for group in summary.groups[1:]:
        ranking = summary.ranking(rule, summary.horizon, group)
        if ranking and ranking[0][0] != name:
            others.append(f"{escape(ranking[0][0])} on the {escape(group)} ones ({ranking[0][1].mean:.2f} mm)")
    return f"; {' and '.join(others)}" if others else ""


def _flattery(summary: Summary) -> str:
    found = flattery(summary)
    if not found:
        return ""
    most, least = found[0], found[-1]
    text = (
        f"<b>Looking ahead flatters.</b> A predictor that learns from targets {summary.horizon:g} s before they arrive "
        f"scores far better than it can do live: {escape(most.predictor)} has {most.lookahead:.2f} mm instead of "
        f"{most.causal:.2f} mm, a factor of {most.factor:.1f} or {most.causal - most.lookahead:.2f} mm."
    )
    if most.factor <= 1.0:
        return (
            f"<b>Looking ahead does not flatter here:</b> {escape(most.predictor)} has {most.lookahead:.2f} mm with "
            f"look-ahead labels and {most.causal:.2f} mm with causal ones."
        )
    if len(found) > 1:
        best = best_against_best(summary)
        text += (
            f" For {escape(least.predictor)} the factor is {least.factor:.1f}. Best against best it is "
            f"{best.lookahead:.2f} mm with look-ahead labels and {best.causal:.2f} mm with causal ones, a factor of "
            f"{best.factor:.1f} or {best.causal - best.lookahead:.2f} mm."
        )
    return text


def _diverged(summary: Summary) -> str:
    runs = [result for result in summary.results if result.horizon == summary.horizon]
    lost = [result for result in runs if result.diverged]
    if not lost:
        return f"<b>None of {len(runs):,} test runs diverged.</b>"
    who = _list(sorted({f"{escape(result.predictor)} ({LABELS[result.labels]})" for result in lost}))
    verb = "diverged</b> and is" if len(lost) == 1 else "diverged</b> and are"
    return f"<b>{len(lost):,} of {len(runs):,} test runs {verb} left out of the means: of {who}."


def _amount(one: Estimate, recordings: int) -> str:
    margin = f" <span class='pm'>± {one.margin:.3f}</span>" if one.runs > recordings else ""
    return f"<span class='amount'>{one.mean:.3f}{margin}&nbsp;mm</span>"


def _list(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
