"""The pictures of `zeroproof trace view`: ranks of three hosts, whose clocks are hours apart. One
of them skips an operation. view_test.py ZEROPROOF DIR"""

import itertools
import json
import os
import random
import subprocess
import sys
import unittest.mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "conformance", "recorder"))

import zeroproof_trace_file  # noqa: E402

RANKS, STEPS, MILLISECOND = 4, 40, 1_000_000
CLOCKS = (10**12, 10**12 + 3600 * 10**9, 10**12 - 900 * 10**9, 10**12 + 3600 * 10**9)
bad = 0


def verdict(good, name, why=""):
    global bad
    print(f"ok {name}" if good else f"not ok {name}: {why}")
    bad |= not good


def record(folder, drift=0):
    """All ranks enter all_reduce, rank r after r ms and some more; the slowest one decides when it
    returns. Rank 0 sends to rank 1 in between. Rank 2 skips the last all_reduce."""
    dice, true = random.Random(1), [0] * RANKS
    with unittest.mock.patch.object(zeroproof_trace_file.time, "monotonic_ns") as clock:

        def at(rank):
            clock.return_value = CLOCKS[rank] + true[rank] + rank * drift * true[rank] // 1000

        files = [zeroproof_trace_file.TraceFile(folder, r, RANKS) for r in range(RANKS)]
        group = [f.group("world", list(range(RANKS)), label="default_pg") for f in files]
        for step, r in itertools.product(range(STEPS), range(RANKS)):
            if r == 0:
                started = list(true)
            true[r] = started[r] + dice.randrange(1, 5) * MILLISECOND
            files[r].mark(zeroproof_trace_file.STEP, step)
            at(r)
            if r == 0:
                files[r].operation("send", group[r], count=4, root=1, later=True)
            if r == 1:
                files[r].operation("recv", group[r], count=4, root=0)
                true[1] = max(true[1], true[0]) + MILLISECOND
                at(r)
                files[r].returned(files[r].count - 1)
            if step == STEPS - 1 and r == 2:
                continue
            true[r] += MILLISECOND
            at(r)
            files[r].operation("all_reduce", group[r], "sum", "float32", 4)
            if r == RANKS - 1 and step < STEPS - 1:
                done = max(true) + MILLISECOND
                for q in range(RANKS):
                    true[q] = done + dice.randrange(MILLISECOND)
                    at(q)
                    files[q].returned(files[q].count - 1)
        for r, file in enumerate(files):
            at(r)
            file.close(completed=r == 2)


class Run:
    """Traces of ranks of one host: at(ms, rank).operation(...), and so on."""

    def __init__(self, folder, ranks):
        self.patch = unittest.mock.patch.object(zeroproof_trace_file.time, "monotonic_ns")
        self.clock = self.patch.start()
        self.files = [zeroproof_trace_file.TraceFile(folder, r, ranks) for r in range(ranks)]
        for file in self.files:
            file.group("world", list(range(ranks)), label="default_pg")

    def at(self, ms, rank):
        self.clock.return_value = 10**12 + int(ms * MILLISECOND)
        return self.files[rank]

    def whole(self, ms, name="all_reduce", ranks=None, returned=0.5):
        """All ranks enter an operation of the world, and return."""
        ranks = range(len(self.files)) if ranks is None else ranks
        for r in ranks:
            self.at(ms, r).operation(name, 1, "sum", "float32", 4)
        for r in ranks if returned else ():
            self.at(ms + returned, r).returned(self.files[r].count - 1)

    def kill(self, rank):
        """The trace ends here. A return that is not written yet is lost."""
        os.close(self.files[rank].fd)
        self.files[rank].fd = None

    def close(self):
        for file in self.files:
            if file.fd is not None:
                file.close()
        self.patch.stop()


def check_arrows(zeroproof, folder):
    """Rank 1 sends to rank 0 three times: before the receive, during it, and after the call of an
    asynchronous one."""
    run = Run(folder, 3)
    for ms, r in (1, 2), (2, 0), (3, 1):
        run.at(ms, r).operation("all_reduce", 1, "sum", "float32", 4)
    for r in range(3):
        run.at(4, r).returned(0)
    for send, receive, returned in (5, 6, 7), (9, 8, 10), (12, 11, 14):
        for ms in range(min(send, receive), returned + 1):
            if ms == send:
                run.at(ms, 1).returned(run.at(ms, 1).operation("send", 1, count=4, root=0))
            if ms == receive:
                run.at(ms, 0).operation("recv", 1, count=4, root=1, later=receive == 11)
            if ms == returned:
                run.at(ms, 0).returned(run.files[0].count - 1)
    run.close()
    arrows = [e for e in view(zeroproof, folder) if e["ph"] in "stf"]
    found = [(e["ph"], e["pid"], e["ts"] / 1000) for e in arrows]
    verdict(
        found[:3] == [("s", 2, 0), ("t", 0, 1), ("f", 1, 2)],
        "arrows_pass_the_members_in_the_order_in_which_they_entered",
        found,
    )
    verdict(
        found[3:7] == [("s", 1, 4), ("f", 0, 5), ("s", 1, 8), ("f", 0, 8)],
        "an_arrow_leads_from_a_send_to_a_lower_rank_into_its_receive",
        found,
    )
    verdict(
        found[7:] == [("s", 0, 10), ("f", 1, 11)],
        "arrows_never_lead_back_in_time",
        found,
    )


def check_any_source(zeroproof, folder):
    """Rank 0 receives from any source, at first from rank 2. The sources are recorded in another
    order than the receives, and that of the last but one is not."""
    run = Run(folder, 3)
    for ms, sender in (1, 2), (2, 1), (3, 1), (4, 1), (5, 2):
        run.at(ms, sender).returned(run.files[sender].operation("send", 1, count=4, root=0))
    for ms in range(10, 15):
        run.at(ms, 0).operation("recv", 1, root=1 if ms == 12 else -1, any_source=ms != 12)
        run.at(ms + 0.5, 0).returned(run.files[0].count - 1)
    for received, source in (1, 1), (0, 2), (4, 2):
        run.at(20, 0).source(received, source)
    run.close()
    events = view(zeroproof, folder)
    starts = {e["id"]: (e["pid"], e["ts"] / 1000) for e in events if e["ph"] == "s"}
    arrows = [(*starts[e["id"]], e["ts"] / 1000) for e in events if e["ph"] == "f"]
    verdict(
        sorted(arrows) == [(1, 1, 10), (1, 2, 11), (2, 0, 9)],
        "an_arrow_leads_to_a_receive_from_any_source_whose_source_is_recorded",
        arrows,
    )


def waits(events):
    """What is red: (rank, record, whether it returned, ms)."""
    return [
        (e["pid"], e["args"]["record"], e["args"].get("returned"), round(e["dur"] / 1000))
        for e in events
        if e["ph"] == "X" and e.get("cname") == "terrible"
    ]


def check_hangs(zeroproof, folder):
    """Rank 1 does not enter operation 2, for which ranks 0 and 2 wait."""
    run = Run(os.path.join(folder, "hang"), 3)
    for step in range(3):
        for r in range(3):
            run.at(100 * step, r).mark(zeroproof_trace_file.STEP, step)
        run.whole(100 * step + 10, ranks=(0, 2) if step == 2 else None, returned=80 * (step < 2))
    for r in range(3):
        run.kill(r)
    run.close()
    events = view(zeroproof, os.path.join(folder, "hang"))
    expected = [(0, 2, "never", 10), (2, 2, "never", 10)]
    verdict(waits(events) == expected, "in_a_hang_the_operations_that_wait_are_red", events)
    said = [(e["pid"], e["ts"]) for e in events if e.get("cat") == "cause"]
    # rank 1 began step 2 after it had returned 180 ms after the first item
    verdict(said == [(1, 180000)], "the_mark_is_after_the_last_item_of_the_rank", said)

    run = Run(os.path.join(folder, "killed"), 3)
    run.whole(10, returned=80)
    run.whole(100, ranks=(0, 2), returned=0)
    for r in range(3):
        run.kill(r)
    run.close()
    events = view(zeroproof, os.path.join(folder, "killed"))
    first = [(e["dur"], e["args"].get("returned")) for e in slices(events, "all_reduce")[1]]
    verdict(
        first == [(80000, "unknown")],
        "an_operation_from_which_others_returned_is_not_drawn_as_if_it_never_did",
        first,
    )

    run = Run(os.path.join(folder, "timeout"), 3)
    run.whole(10, returned=80)
    run.whole(100, ranks=(0, 2), returned=0)
    for r in (0, 2):
        run.at(5100, r).close(ended=(2, 1, "RuntimeError"))
    run.at(12000, 1).close()
    run.close()
    events = view(zeroproof, os.path.join(folder, "timeout"))
    expected = [(0, 1, "never", 5000), (2, 1, "never", 5000)]
    verdict(
        waits(events) == expected, "an_operation_that_failed_lasts_until_its_rank_ended", events
    )
    said = [(e["pid"], e["ts"]) for e in events if e.get("cat") == "cause"]
    verdict(said == [(1, 11990000)], "the_mark_of_an_exit_is_at_the_exit", said)

    run = Run(os.path.join(folder, "wait"), 3)
    for r in (0, 2):
        run.at(10, r).operation("all_reduce", 1, "sum", "float32", 4, later=True)
        run.at(110, r).wait(0)
        run.at(1000, r).close(ended=(2, 1, "RuntimeError"))
    run.at(1010, 1).close()
    run.close()
    events = view(zeroproof, os.path.join(folder, "wait"))
    ends = [(e["pid"], e["ts"]) for e in events if e["ph"] == "e"]
    good = waits(events) == [(0, 0, "never", 0), (2, 0, "never", 0)]
    verdict(
        good and ends == [(0, 990000), (2, 990000)],
        "an_asynchronous_operation_lasts_until_its_rank_ended_in_the_wait_for_it",
        events,
    )


def check_ranks(zeroproof, folder):
    """Of 70 ranks, ranks 66 and 68 do not enter the last operation."""
    run = Run(folder, 70)
    run.whole(1)
    run.whole(2, ranks=[r for r in range(70) if r not in (66, 68)], returned=0)
    for r in range(70):
        run.at(3, r).mark(zeroproof_trace_file.STEP, 0)
        run.kill(r)
    run.close()
    printed = []
    events = view(zeroproof, folder, printed=printed)
    said = [e["pid"] for e in events if e.get("cat") == "cause"]
    drawn = sorted({e["pid"] for e in events})
    verdict(said == [66], "the_default_picture_has_the_mark_of_a_cause_at_any_rank", said)
    good = drawn == [*range(64), 66, 68] and "with ranks 0–63, 66, 68 of 70:" in printed[0]
    verdict(good, "it_has_all_ranks_of_the_cause_and_their_numbers_are_printed", (drawn, printed))
    events = view(zeroproof, folder, "--ranks", "0-1")
    said = [e["pid"] for e in events if e.get("cat") == "cause"]
    verdict(said == [0], "if_its_rank_is_not_drawn_the_mark_is_where_another_one_waits", said)
    events = view(zeroproof, folder, "--ranks", "3", printed=printed)
    view(zeroproof, folder, "--ranks", "3", "--json", printed=printed)
    said = [e for e in events if e.get("cat") == "cause"]
    found = json.loads(printed[2])
    good = not said and "rank 66, which the cause concerns, is not drawn" in printed[1]
    verdict(good, "a_cause_that_is_not_drawn_is_printed", (said, printed))
    expected = {"wrote": folder + ".json", "ranks": [3], "world": 70, "left_out": 66}
    verdict(found == expected, "json_has_the_ranks_drawn", found)


def check_many_pairs(zeroproof, folder):
    """Rank 0 sends to each rank and receives from each. A search of all pairs for each operation
    takes minutes of processor time, and the limit is 60 times what a search by key takes."""
    z, ranks = zeroproof_trace_file, 1 << 17
    os.makedirs(folder)
    trace = bytearray(b"ZPTRACE\1" + z.numbers(0, ranks, z.GROUP, 1) + z.text("w"))
    trace += z.numbers(ranks, 0, 1, 0, 2, ranks)
    for peer in range(ranks):
        for name in "send", "recv":
            trace += z.numbers(z.OP, z.OPS.index(name), 1, 8, 5, 1, peer + 1, 1, 0)
    with open(os.path.join(folder, "rank-0.zpt"), "wb") as file:
        file.write(trace + z.numbers(z.END))
    limited = 'ulimit -t 60 && exec "$0" trace view "$1" --out "$2"'
    done = subprocess.run(
        ["sh", "-c", limited, zeroproof, folder, folder + ".json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    drawn = 0
    if done.returncode == 0:
        with open(folder + ".json", encoding="utf-8") as file:
            drawn = sum('"ph":"X"' in line for line in file)
    verdict(
        drawn == 2 * ranks,
        "the_time_of_a_picture_does_not_grow_with_the_square_of_the_pairs",
        (done.returncode, drawn, done.stdout[:300]),
    )


def view(zeroproof, folder, *options, printed=None):
    picture = folder + ".json"
    done = subprocess.run(
        [zeroproof, "trace", "view", folder, "--out", picture, *options],
        check=True,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    if printed is not None:
        printed.append(done.stdout)
    with open(picture, encoding="utf-8") as file:
        return json.load(file)["traceEvents"]


def slices(events, name):
    return [
        [e for e in events if e["ph"] == "X" and e["pid"] == r and e["name"] == name]
        for r in range(RANKS)
    ]


def latest(events):
    """By how many µs an all_reduce returned before the last rank entered it, at worst."""
    worst = -1e9
    for members in zip(*slices(events, "all_reduce"), strict=False):
        if any("returned" in e["args"] for e in members):
            continue
        entered = max(e["ts"] for e in members)
        worst = max(worst, entered - min(e["ts"] + e["dur"] for e in members))
    return worst


def main():
    zeroproof, folder = sys.argv[1:]
    record(os.path.join(folder, "hosts"))
    events = view(zeroproof, os.path.join(folder, "hosts"))
    late = latest(events)
    verdict(-3000 < late < 0.01, "clocks_of_hosts_are_aligned_by_common_operations", late)
    times = [e["ts"] for e in events if "ts" in e]
    verdict(0 <= min(times) and max(times) < 1e6, "times_start_at_0", (min(times), max(times)))
    durations = [e["dur"] for e in slices(events, "all_reduce")[0][:-1]]
    verdict(min(durations) > 1000, "an_operation_lasts_until_it_returned", durations)
    arrows = [e for e in events if e["ph"] in "stf"]
    sends = {e["id"]: e for e in arrows if e["ph"] == "s" and e["name"] == "send"}
    ends = {e["id"]: e for e in arrows if e["ph"] == "f" and e["name"] == "recv"}
    pairs = [(sends[i]["pid"], ends[i]["pid"]) for i in sends]
    verdict(pairs == [(0, 1)] * STEPS, "an_arrow_leads_from_each_send_to_its_receive", pairs)
    whole = [e for e in arrows if e["name"] == "all_reduce"]
    ids = {i: "".join(e["ph"] for e in whole if e["id"] == i) for i in {e["id"] for e in whole}}
    good = sorted(ids.values()) == ["stf"] + ["sttf"] * (STEPS - 1)
    verdict(good, "arrows_join_all_members", ids)
    marked = [e for e in events if e.get("cname") == "terrible"]
    said = [e for e in marked if e["ph"] == "i"]
    good = len(said) == 1 and said[0]["pid"] == 2 and "rank 2" in said[0]["name"]
    verdict(good, "the_cause_is_a_red_mark_at_its_rank", said)
    good = any(e["ph"] == "X" and said[0]["name"] == e["args"]["cause"] for e in marked)
    verdict(good, "red_operations_have_the_sentence", marked)
    stuck = [e for e in events if e.get("args", {}).get("returned") == "never"]
    good = sorted(e["pid"] for e in stuck) == [0, 1, 3] and all("cname" in e for e in stuck)
    verdict(good, "operations_that_never_returned_are_marked", stuck)
    record(os.path.join(folder, "drift"), drift=40)  # no offsets fit: up to 120 µs per ms
    late = latest(view(zeroproof, os.path.join(folder, "drift")))
    verdict(0 < late < 16000, "clocks_that_drift_are_aligned_as_well_as_possible", late)
    check_arrows(zeroproof, os.path.join(folder, "arrows"))
    check_any_source(zeroproof, os.path.join(folder, "any"))
    check_hangs(zeroproof, folder)
    check_ranks(zeroproof, os.path.join(folder, "ranks"))
    check_many_pairs(zeroproof, os.path.join(folder, "pairs"))
    return bad


if __name__ == "__main__":
    sys.exit(main())
