"""`make controls`: plants each fault in a copy of the project and expects the named tests to turn red.

First all those tests must be green without a fault; `--tested PROFILE` says that they have just been, all of
that profile, on this very tree. A control passes when, with its fault, every test it
names has failed in its own body. Green, an error around the test, a collection error, no tests run, a run
that does not end and a patch that does not apply are failures of the control.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from tests.controls.control import NEEDS, Control, ControlError, read_controls
from tests.controls.trial import PatchRefused, Trial, copy_project, copy_tried, plant, run_tests
from tests.tree import ROOT

BASELINE_TIMEOUT_S = 900
FAULTY_PATIENCE_S = 10.0
"""A fault is often seen by what never comes: there is no sense in waiting for it as long as for what does."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one control; `why` is empty when it passed."""

    name: str
    promise: str
    duration_s: float
    why: str = ""
    output: str = ""


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run the controls asked for; 0 if all passed."""
    options = _options(arguments)
    try:
        controls = read_controls(root / "tests" / "controls")
    except ControlError as error:
        print(f"controls: {error}")
        return 1
    chosen = choose(controls, options.only, options.shard, options.needs)
    if not controls:
        print("controls: there are none")
        return 1
    if missing := set(options.only) - {control.name for control in chosen}:
        print(f"controls: there is none named {', '.join(sorted(missing))}")
        return 1
    if not options.only and not options.needs and (more := sum(1 for one in controls if one.needs)):
        print(f"controls: {more} more need docker; with a daemon: --needs docker")
    with tempfile.TemporaryDirectory(prefix="hubbub-controls-") as scratch:
        verdicts = _judge(chosen, root, Path(scratch), options.workers, options.tested)
    return _tell(verdicts)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="controls", description="Plant faults; expect red tests.")
    parser.add_argument(
        "--only", metavar="NAME", action="append", default=[], help="just this control (repeatable)"
    )
    parser.add_argument("--shard", metavar="I/N", type=_shard, default=(1, 1), help="the I-th of N slices")
    parser.add_argument("--needs", choices=NEEDS, default="", help="those that need it, and no others")
    parser.add_argument("--workers", metavar="N", type=int, default=2, help="how many run side by side")
    parser.add_argument(
        "--tested", metavar="PROFILE", action="append", default=[], help="its tests have just been green"
    )
    return parser.parse_args(arguments)


def _shard(text: str) -> tuple[int, int]:
    index, _, count = text.partition("/")
    if not (index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
        raise argparse.ArgumentTypeError("write I/N with 1 <= I <= N")
    return int(index), int(count)


def choose(
    controls: Sequence[Control], only: Sequence[str], shard: tuple[int, int], needs: str = ""
) -> list[Control]:
    """The controls named, or else the slice of those with that need: every n-th, so that slices take about
    equally long."""
    if only:
        return [control for control in controls if control.name in only]
    index, count = shard
    fitting = [control for control in controls if control.needs == needs]
    return [control for place, control in enumerate(fitting) if place % count == index - 1]


def _judge(
    controls: Sequence[Control], root: Path, scratch: Path, workers: int, tested: Sequence[str]
) -> list[Verdict]:
    pristine = scratch / "pristine"
    copy_project(root, pristine)
    baseline = _baseline([one for one in controls if one.profile not in tested], pristine, workers)
    verdicts: list[Verdict] = []
    with ThreadPoolExecutor(workers) as pool:
        running = [
            pool.submit(_try, control, pristine, scratch / control.name, baseline) for control in controls
        ]
        for done in as_completed(running):
            verdict = done.result()
            print(
                f"{'ok  ' if not verdict.why else 'FAIL'} {verdict.name} ({verdict.duration_s:.1f} s)",
                flush=True,
            )
            verdicts.append(verdict)
    return sorted(verdicts, key=lambda verdict: verdict.name)


def _baseline(controls: Sequence[Control], pristine: Path, workers: int) -> dict[str, Trial]:
    """Every test named, run once without a fault, by profile."""
    trials: dict[str, Trial] = {}
    for profile in sorted({control.profile for control in controls}):
        node_ids = sorted(
            {one for control in controls if control.profile == profile for one in control.must_fail}
        )
        print(f"without a fault: {len(node_ids)} tests must be green (profile {profile})", flush=True)
        trials[profile] = run_tests(
            pristine, node_ids, profile=profile, timeout_s=BASELINE_TIMEOUT_S, workers=workers
        )
    return trials


def _try(control: Control, pristine: Path, copy: Path, baseline: dict[str, Trial]) -> Verdict:
    started = time.monotonic()
    why, output = "", ""
    if control.profile in baseline:
        why, output = _green_before(control, baseline[control.profile])
    if not why:
        copy_tried(pristine, copy)
        try:
            plant(control, copy)
        except PatchRefused as refused:
            why = f"the patch does not apply: {refused}"
        else:
            trial = run_tests(
                copy,
                control.must_fail,
                profile=control.profile,
                timeout_s=control.timeout_s,
                patience_s=FAULTY_PATIENCE_S,
            )
            why, output = _red_after(trial), trial.output
        shutil.rmtree(copy)
    return Verdict(control.name, control.promise, time.monotonic() - started, why, output if why else "")


def _green_before(control: Control, trial: Trial) -> tuple[str, str]:
    if trial.problem:
        return f"without the fault: {trial.problem}", trial.output
    for node_id in control.must_fail:
        outcomes = trial.outcomes[node_id]
        if outcomes == {"passed"}:
            continue
        if not outcomes:
            return f"without the fault: {node_id} did not run", trial.output
        reasons = f" ({'; '.join(sorted(trial.skips))})" if "skipped" in outcomes else ""
        return f"without the fault: {node_id} was {', '.join(sorted(outcomes))}{reasons}", trial.output
    return "", ""


def _red_after(trial: Trial) -> str:
    if trial.problem:
        return f"with the fault: {trial.problem}"
    for node_id, outcomes in trial.outcomes.items():
        if "failed" not in outcomes:
            seen = ", ".join(sorted(outcomes)) or "not run"
            return f"with the fault: {node_id} was {seen}, not failed"
    return ""


def _tell(verdicts: Sequence[Verdict]) -> int:
    for verdict in verdicts:
        if verdict.output:
            print(f"\n--- {verdict.name}: end of the tests' output\n{verdict.output}")
    width = max((len(verdict.name) for verdict in verdicts), default=0)
    print()
    for verdict in verdicts:
        state = "passed" if not verdict.why else "FAILED"
        print(f"{state}  {verdict.name:<{width}}  {verdict.duration_s:6.1f} s  {verdict.promise}")
        if verdict.why:
            print(f"        {'':<{width}}  {verdict.why}")
    failed = sum(1 for verdict in verdicts if verdict.why)
    print(f"\n{len(verdicts) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
