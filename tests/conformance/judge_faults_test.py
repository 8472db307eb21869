"""Tests the judge on adapters with one fault each: each is reported with the right verdict."""

import sys

from selftest import TRAINER, check, main, run

# Fault -> (clause, start of the kind) that some cause must have; None: the run itself must fail.
# Adapters that answer or record too little:
EVASIONS = {
    "null": ("RUN-2", "malformed answer"),
    "unannounced": ("RUN-2", "malformed answer"),
    "echo": ("RED-3", "missing"),
    "garbage": ("RUN-2", "line that is no answer"),
    "crash": ("RUN-1", "error: the adapter's process ended"),
    "no-ledger": ("LEDG-6", "empty ledger"),
    "silent": None,
    "empty": None,
    "refuses": None,
    "constant-ledger": None,
    "empty-ledger": ("LEDG-6", "empty ledger"),
    "small-ledger": ("LEDG-6", "too little"),
    "lonely-ledger": ("LEDG-6", "too little"),
    "stepless-ledger": ("RUN-2", "malformed ledger"),
    "uneven-ledger": ("LEDG-2", "ledgers differ"),
    "ungathered": ("LEDG-6", "ungathered"),
}
# Historic bugs, and the like:
BUGS = {
    "local": ("RED-3", "missing"),
    "last-only": ("RED-3", "missing"),
    "no-mean": ("RED-2", "ratio"),
    "next-scale": ("STEP-6", "unscaled by the next scale"),
    "unused-stale": ("STEP-4", "stale"),
    "unused-still": ("OPT-4", "update"),
    "norm-local": ("STAT-4", "norm"),
    "norm-replicas": ("STAT-4", "norm"),
    "shifted": ("PART-6", "moved"),
    "buckets-reversed": ("RED-3", ""),
    "one-rate": ("OPT-4", "learning rate of another group"),
    "steps-anyway": ("STEP-6", "skip"),
    "backwards-last": ("RED-3", "missing"),
    "replicas-apart": ("RED-3", "missing"),
    "replicas-late": ("RED-3", "missing"),
    "replicas-twice": ("RED-3", "doubled"),
    "replicas-norm": ("STAT-4", "norm"),
    "replicas-ignored": ("PART-6", "unowned"),
    "replicas-ledger": ("LEDG-6", "too little"),
    "groups-early": ("OPT-4", "early group"),
    "groups-never": ("OPT-4", "lost group"),
    "groups-lost": ("OPT-4", "lost group"),
    "groups-rate": ("OPT-4", "learning rate of another group"),
    "groups-unowned": ("PART-6", "unowned"),
    "groups-norm": ("STAT-4", "norm"),
    "groups-uncleared": ("STEP-4", "stale"),
    "groups-moment": ("RED-2", "garbled"),
    "groups-partition": ("PART-6", "unowned"),
    "groups-collective": ("LEDG-2", "ledgers differ in all_reduce"),
    "groups-index": ("OPT-4", "learning rate of another group"),
    "lazy-scale": ("SCALE-4", "scale"),
    "no-clip": ("OPT-2", "clip"),
    "nan": ("OPT-4", "update"),
    "frozen-moves": ("PART-1", "frozen"),
    "others-masters": ("RED-2", "garbled"),
    "skipped-masters": ("STEP-6", "changed by a skipped step"),
}
ALONE = {"others-masters", "skipped-masters"}  # wrong masters, right parameters
# Few cases show these. The others show in the first 40 cases, these in the first 160.
RARE = {
    "unused-stale",
    "unused-still",
    "buckets-reversed",
    "replicas-ignored",
    "groups-rate",
    "groups-moment",
    "groups-index",
}


def test_evasions():
    report_faults(EVASIONS)


def test_bugs():
    report_faults(BUGS)


def report_faults(faults):
    for fault, verdict in faults.items():
        code, report, errors = run(
            f"{TRAINER} {fault}", "--cases", "160" if fault in RARE else "40"
        )
        if report is None:
            check(f"{fault} is reported", False, errors)
        elif verdict is None:
            check(f"{fault} fails the run", code == 1 and report["problems"], report["problems"])
        else:
            seen = [
                (c["clause"], c["kind"], c["findings"][0].get("detail", {}).get("symptom", []))
                for c in report["causes"]
            ]
            good = any(
                c == verdict[0]
                and k.startswith(verdict[1])
                and (fault not in ALONE or "masters alone" in words)
                for c, k, words in seen
            )
            check(f"{fault} is reported as {verdict[0]} {verdict[1]}", code == 1 and good, seen)
        if fault == "empty":
            check(
                "an adapter that returns nothing passes nothing",
                report["cases"]["pass"] == 0 and not any(n[0] for n in report["clauses"].values()),
                report["clauses"],
            )
        if fault == "null":
            check("the null adapter passes nothing", report["cases"]["pass"] == 0, report["cases"])


def test_buckets():
    """Equal buckets in another order show, also if the ranks' shards have even sizes."""
    for micro_batches in (1, 2, 3):
        recipe = f"precision=fp32,M={micro_batches},bucket=4,dp=2,stage=1,list=300@0.0"
        code, report, errors = run(f"{TRAINER} buckets-reversed", "--only", recipe, "--shrink", "0")
        seen = report["cases"] if report else errors
        check(f"reversed buckets show, M={micro_batches}", code == 1 and seen["fail"] == 1, seen)


sys.exit(main(test_evasions, test_bugs, test_buckets))
