"""Parses the log of `frama-c -wp`: one line per goal, and all lines that are not routine."""

import re
from dataclasses import dataclass, field

# Lines without information about proofs. A line in no list is reported, because a log that this
# parser does not understand is not evidence.
ROUTINE = [
    re.compile(p)
    for p in (
        r"\[kernel\] Parsing ",
        r"\[wp\] Running WP plugin\.\.\.$",
        r"\[rte:annot\] annotating function ",
        r"\[wp\] \d+ goals? scheduled$",
        r"\[wp\] Report '",
        r"\[report\] Dumping properties in ",
        r"\[wp\] No goal generated$",
        r"\[wp\] Computing \[\d+ goals\.\.\.\]$",
        r"\[wp\] \[Cache\] (found|updated|missed|failed)",
        r"\s+(Qed|CVC[45][^:]*|Z3[^:]*):\s",
        r"\[wp\] \[Passed\] Smoke-test ",
        r"\s*$",
    )
]
GOAL = re.compile(
    r"\[wp\] \[(?P<prover>[^\]]+)\] Goal (?P<name>\S+)(?: : (?P<verdict>\w+)(?P<rest>.*))?$"
)
SKIPPED = re.compile(r"\[wp\] Goal (?P<name>\S+) : (?P<verdict>.*)$")
ATTEMPT = re.compile(
    r"  (?P<prover>[A-Z][\w. ()]*): (?P<verdict>Timeout|Unknown|Failed|Stepout|Valid)"
    r"(?P<rest>.*)$"
)
SMOKE = re.compile(r"\[wp\] \[Failed\] Smoke-test (?P<name>\S+)")
PROVED = re.compile(r"\[wp\] Proved goals:\s+(\d+) / (\d+)")
CACHE = re.compile(r"\[wp\] \[Cache\] (.*)$")


@dataclass
class Goal:
    name: str  # typed_f_ensures_x
    valid: bool
    prover: str  # "Qed", "CVC5 1.0.3", ...; "" if no prover proved it
    seconds: float
    verdicts: str  # each prover's verdict if it was not proven
    stage: int

    def died(self):
        """Not proven and without a verdict: each prover ended without an answer."""
        return not self.valid and not re.search(r"Timeout|Unknown|Stepout", self.verdicts)


@dataclass
class Log:
    goals: list = field(default_factory=list)
    odd: list = field(default_factory=list)  # (line number, text) of lines that are not routine
    smoke: list = field(default_factory=list)  # names of failed smoke tests
    missed: int = 0  # prover results that the cache did not have
    proved: list = field(default_factory=list)  # (proved, all) as WP counts, one for each stage
    cpu: float = 0.0  # seconds of CPU time of the run that wrote it


def seconds_of(rest):
    """The longest time named in `(Qed:5ms) (30ms) (cached)`."""
    best = 0.0
    for number, unit in re.findall(r"(?:\(|:)([\d.]+)(ms|s|mn|')", rest or ""):
        scale = {"ms": 0.001, "s": 1.0, "mn": 60.0, "'": 60.0}[unit]
        best = max(best, float(number) * scale)
    return best


def parse(text):
    log = Log()
    stage, last, continued = 0, None, None
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("[wp] Running WP plugin"):
            stage += 1
        if continued is not None and line.startswith(" ") and not ATTEMPT.match(line):
            continued.append(line.strip())
            continue
        continued = None
        m = GOAL.match(line)
        if m:
            valid = m["verdict"] == "Valid"
            prover = m["prover"] if valid else ""
            verdict = (
                "" if valid or not m["verdict"] else f"{m['prover']}: {m['verdict']}{m['rest']}"
            )
            last = Goal(m["name"], valid, prover, seconds_of(m["rest"]), verdict, stage)
            log.goals.append(last)
            continue
        m = SKIPPED.match(line)
        if m:
            # "trivial" appears only if WP was not allowed to run, so it is never a proof here
            last = Goal(m["name"], False, "", 0.0, m["verdict"], stage)
            log.goals.append(last)
            continue
        m = ATTEMPT.match(line)
        if m and last and not last.valid:
            last.verdicts += (
                "; " if last.verdicts else ""
            ) + f"{m['prover']}: {m['verdict']}{m['rest']}"
            last.seconds = max(last.seconds, seconds_of(m["rest"]))
            continue
        m = SMOKE.match(line)
        if m:
            log.smoke.append(m["name"])
            last = None
            continue
        m = PROVED.match(line)
        if m:
            log.proved.append((int(m[1]), int(m[2])))
            last = None
            continue
        m = CACHE.match(line)
        if m:
            for n in re.findall(r"(?:missed|failed):(\d+)", m[1]):
                log.missed += int(n)
            continue
        if any(p.match(line) for p in ROUTINE):
            continue
        if line.startswith("  Unknown error") or re.match(r"\s+Qed: Valid", line):
            continue
        if last is not None and not last.valid and line.startswith("  "):
            last.verdicts += f"; {line.strip()}"
            continue
        entry = [line.strip()]
        log.odd.append((number, entry))
        continued = entry
    log.odd = [(n, " ".join(e)) for n, e in log.odd]
    return log
