"""torch_context_check.py DIR: compares the traces of torch_context.py with the program's lines."""

import hashlib
import os
import re
import sys

from trace_items import Trace

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "torch_context.py"
HASHED = hashlib.sha256(f"tests/drivers/trace/{NAME}".encode()).hexdigest()[:8]
folder, failed = sys.argv[1], 0


def marks():
    """The lines of the program with a mark: name -> number."""
    with open(os.path.join(HERE, NAME), encoding="utf-8") as file:
        found = {}
        for number, line in enumerate(file, 1):
            mark = re.search(r"# ([a-z_]+)$", line)
            if mark:
                found[mark[1]] = number
    return found


def check(name, good, why=""):
    global failed
    failed += not good
    print(f"ok {name}" if good else f"not ok {name}: {why}", flush=True)


def traces(case):
    return [Trace(os.path.join(folder, case, f"rank-{rank}.zpt")) for rank in (0, 1)]


def lines(site):
    """The line numbers of a site. The program is named below the current folder."""
    found = []
    for part in filter(None, site.split(";")):
        name, _, number = part.rpartition(":")
        assert name in (os.path.join("tests", "drivers", "trace", NAME), HASHED), site
        found.append(int(number))
    return found


def of_count(trace, count):
    """(step, phase, innermost lines) of the operations with a count."""
    return [(o["step"], o["phase"], lines(o["site"])) for o in trace.ops if o["count"] == count]


def expect(name, got, *expected):
    """expected: (step, phase, marks of the innermost lines)."""
    wanted = [(step, phase, [at[m] for m in words.split()]) for step, phase, words in expected]
    cut = [(s, p, found[: len(w[2])]) for (s, p, found), w in zip(got, wanted, strict=False)]
    check(name, len(got) == len(wanted) and cut == wanted, f"{got}, not {wanted}")


at = marks()
for trace in traces("training"):
    rank = trace.rank
    expect(f"before_the_first_phase_there_is_no_step {rank}", of_count(trace, 7),
           (None, "", "shared before"))  # fmt: skip
    expect(f"a_collective_in_a_module_is_of_the_forward_pass {rank}", of_count(trace, 5),
           *[(n, "forward", "layer forward") for n in range(3)])  # fmt: skip
    reduced = [o for o in trace.ops if o["phase"] == "backward"]
    check(f"the_reducer_runs_in_the_backward_pass {rank}",
          [(o["op"], o["step"], lines(o["site"])[0]) for o in reduced]
          == [("all_reduce", n, at["backward"]) for n in range(3)], reduced)  # fmt: skip
    expect(f"a_collective_in_an_optimizer_is_of_its_step {rank}", of_count(trace, 26),
           *[(n, "optimizer", "optimizer step") for n in range(3)])  # fmt: skip
    expect(f"an_optimizer_ends_a_step {rank}", of_count(trace, 28),
           (1, "", "shared after"), (2, "norm", "shared after"),
           (3, "", "shared after"))  # fmt: skip
    expect(f"a_phase_of_the_program_wins_in_a_module {rank}", of_count(trace, 31),
           (1, "forward", "shared inner"), (2, "norm", "shared inner"),
           (3, "forward", "shared inner"))  # fmt: skip
    expect(f"a_thread_has_its_own_stack {rank}", of_count(trace, 10), (3, "", "shared"))
    groups = {trace.labels[o["group"]] for o in trace.ops if o["count"] == 9}
    check(f"a_group_has_its_description {rank}", groups == {"pair"}, trace.labels)
    check(f"the_default_group_has_torchs_name {rank}", "default_pg" in trace.labels.values())
    check(f"close_ends_the_trace {rank}", trace.ended and trace.exit is None)
for trace in traces("numbered"):
    steps = [o["step"] for o in trace.ops]
    check(f"steps_of_the_program_hold {trace.rank}", steps == [40, 40, 50, 50], steps)
for trace in traces("by_name"):
    got = [(o["op"], o["later"], o["call"]) for o in trace.ops]
    sides = [("send", False, None), ("recv", False, None)]
    later = [("send", True, None), ("recv", True, None)]
    order = 1 - 2 * trace.rank
    wanted = [
        ("recv", True, 1), ("send", True, 1), ("send", True, 2), ("recv", True, 2),
        *sides[::order], *later[::order], ("barrier", False, None),
    ]  # fmt: skip
    check(f"functions_imported_before_are_recorded {trace.rank}", got == wanted, got)
for trace in traces("failing"):
    got = [(o["op"], o["call"]) for o in trace.ops]
    check(f"a_batch_ends_where_it_fails {trace.rank}", got == [("send", 1), ("recv", None)], got)
for trace in traces("autograd"):
    expect(f"a_thread_of_autograd_has_the_lines_that_wait_for_it {trace.rank}",
           of_count(trace, 3),
           (0, "backward", "waits"), (0, "backward", "waits_again"))  # fmt: skip
    expect(f"another_thread_has_none {trace.rank}", of_count(trace, 4), (0, "", ""))
    check(f"it_has_no_site {trace.rank}", trace.ops[2]["site"] == "", trace.ops[2])
for trace in traces("repeated"):
    expect(f"a_hook_of_autograd_has_its_lines {trace.rank}", of_count(trace, 3),
           *[(0, "backward", "shared hook repeated")] * 4)  # fmt: skip
for case, depth, hidden in (
    ("deep", 1, False), ("hidden", 3, True), ("none", 0, False), ("environment", 2, True),
    ("invalid", 3, False),
):  # fmt: skip
    for trace in traces(case):
        sites = {o["site"] for o in trace.ops}
        check(f"depth_{case} {trace.rank}", {len(lines(s)) for s in sites} == {depth}, sites)
        words = sites | set(trace.labels.values())
        secret = any("torch_context" in w or "secret" in w for w in words)
        check(f"redaction_{case} {trace.rank}", secret != hidden or not depth, words)
        if hidden:
            check(f"torchs_own_label_is_kept {trace.rank}", "default_pg" in trace.labels.values())
for trace in traces("compiled"):
    check(f"a_compiled_optimizer_runs {trace.rank}", [o["count"] for o in trace.ops] == [3])
sys.exit(failed > 0)
