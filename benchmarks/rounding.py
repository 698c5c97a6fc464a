"""Compare the same runs computed in batches of different sizes, or on different hardware.

    python benchmarks/rounding.py runs/ONE runs/OTHER

reads two folders or stores of `quatcast compare` and compares the runs that both contain: same label rule, predictor,
configuration, recording and seed. The batch of a run determines the order of some of its sums, and therefore the last
digits; where learning is fast and chaotic, the differences grow.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator

from quatcast.cli.compare import store_file
from quatcast.evaluation.protocol import choose
from quatcast.evaluation.records import canonical
from quatcast.evaluation.report.comparison import words
from quatcast.evaluation.store import Store
from quatcast.evaluation.summary import Summary

SAME = 1e-6
"""Relative difference of two RMSE below which they count as equal."""

DIFFERENCES = f"""
WITH pairs AS (
    SELECT *, coalesce(json_extract(configuration, '$.learning_rate'), json_extract(configuration, '$.rate')) AS rate,
        a.rmse AS one, b.rmse AS other
    FROM main.results AS a JOIN second.results AS b
    USING (stage, labels, horizon, predictor, configuration, recording, seed)
    WHERE stage = 'validation' AND one IS NOT NULL AND other IS NOT NULL
), means AS (
    SELECT labels, predictor, rate, count(*) AS runs, avg(one) AS one, avg(other) AS other,
        sum(abs(one - other) > {SAME} * min(one, other)) AS differ, max(abs(one - other) / min(one, other)) AS most
    FROM pairs GROUP BY labels, horizon, predictor, configuration, recording
)
SELECT labels, predictor, rate, sum(runs), 100.0 * sum(differ) / sum(runs), 100 * max(most),
    100 * max(abs(one - other) / min(one, other)), 100 * avg(abs(one - other) / min(one, other))
FROM means GROUP BY labels, predictor, rate
"""
"""For each learning rate: number of runs, and in per cent the share of runs that differ, the largest difference of a
run, and the largest and mean difference of a mean over seeds."""


def main(first: str, second: str) -> None:
    """Print the differences in the validation, and the choices that they changed."""
    paths = [store_file(path) for path in (first, second)]
    with Store(paths[0]) as one, Store(paths[1]) as other:
        choices = list(changed_choices(one, other))
    db = sqlite3.connect(paths[0])
    db.execute("ATTACH ? AS second", [str(paths[1])])
    print("validation                rate    runs  differ   largest  means over seeds: largest       mean")
    for labels, predictor, rate, runs, differ, most, highest, typical in db.execute(DIFFERENCES):
        print(
            f"{labels:10s} {predictor:12s} {rate or '':>6} {runs:7d} {differ:6.1f}% {most:8.3g}% "
            f"{highest:24.2g}% {typical:9.1g}%"
        )
    db.close()
    print(*choices or ["all choices by validation are the same"], sep="\n")


def changed_choices(*stores: Store) -> Iterator[str]:
    """Yield the cases with the same grid in which the validations chose differently, and their test results."""
    tried = [store.tried() for store in stores]
    grids = [{(one.predictor, canonical(one.configuration)) for one in results} for results in tried]
    apart = {predictor for predictor, _ in grids[0] ^ grids[1]}
    first, second = map(choose, tried)
    tests = [Summary(store.results("test")) for store in stores]
    for case in sorted(first.keys() & second.keys()):
        labels, horizon, predictor, recording = case
        if predictor in apart or first[case] == second[case]:
            continue
        yield f"{labels} {predictor} {recording}: {words(first[case])} | {words(second[case])}"
        for name, found in (
            (recording, [test.of_recording(labels, horizon, predictor, recording) for test in tests]),
            ("all recordings", [test.of_group(labels, horizon, predictor) for test in tests]),
        ):
            yield f"    test RMSE, {name}: {' | '.join(f'{e.mean:.3f} ± {e.margin:.3f} mm' for e in found if e)}"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except (ValueError, OSError) as error:
        sys.exit(str(error))
