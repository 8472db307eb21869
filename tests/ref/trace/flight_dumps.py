"""Flight Recorder dumps made by hand, and damaged ones: for test_flight.sh.

flight_dumps.py write FOLDER     runs of NCCL's form, which no machine here can record
flight_dumps.py hostile ZEROPROOF FILE FOLDER   damages of a pickle: the command must never crash
flight_dumps.py integers ZEROPROOF FOLDER       the largest and smallest integers in each field
flight_dumps.py amplified ZEROPROOF FOLDER      small pickles whose values are used many times
flight_dumps.py groups ZEROPROOF FOLDER         many dumps with many groups
"""

import json
import pickle
import random
import re
import struct
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

RUNS = {}
PAIR = ((0, "send"), (1, "recv"))


def entry(record, seq, name="all_reduce", group="0", **other):
    p2p = name.startswith(("send", "recv"))
    return {
        "record_id": record,
        "pg_id": int(group),
        "process_group": (group, "default_pg" if group == "0" else "pair"),
        "collective_seq_id": 0 if p2p else seq,
        "p2p_seq_id": seq if p2p else 0,
        "op_id": record + 1,
        "profiling_name": f"nccl:{name}",
        "time_created_ns": 1_700_000_000_000_000_000 + record,
        "input_sizes": [[4]],
        "input_dtypes": ["Float"],
        "output_sizes": [[4]],
        "output_dtypes": ["Float"],
        "state": "scheduled",
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": None,
        "retired": False,
        "timeout_ms": 600000,
        "is_p2p": p2p,
        "frames": [
            {"name": "g", "filename": "/home/user/source/torch/distributed/x.py", "line": 1},
            {"name": "f", "filename": "/home/user/train.py", "line": 10 + seq},
        ],
        **other,
    }


def dump(entries, world=2):
    ranks = str(list(range(world)))
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": ranks}}
    return {"version": "2.10", "pg_config": config, "entries": entries}


def run(name, *ranks):
    RUNS[name] = [dump(entries, len(ranks)) for entries in ranks]


done = {"state": "completed", "retired": True}
# rank 1 dumped before it entered number 3, which rank 0 saw complete
run(
    "older",
    [entry(0, 1, **done), entry(1, 2, **done), entry(2, 3, **done), entry(3, 4)],
    [entry(0, 1, **done), entry(1, 2, **done)],
)
# the same, but number 3 never completed: rank 1 is missing
run("waiting", [entry(0, 1, **done), entry(1, 2)], [entry(0, 1, **done)])
run("p2p", [entry(0, 1, "send 0->1"), entry(1, 1)], [entry(0, 1, "recv 1<-0"), entry(1, 1)])
run(
    "p2p_count",
    [entry(0, 1, "send 0->1"), entry(1, 1)],
    [entry(0, 1, "recv 1<-0", output_sizes=[[5]]), entry(1, 1)],
)
# rank 1 has lost its first receives: the rest cannot be counted
run(
    "p2p_lost",
    [entry(i, i + 1, "send 0->1") for i in range(4)],
    [entry(i, i + 1, "recv 1<-0") for i in range(2, 4)],
)
# rank 1 has lost all operations of the default group
run("all_lost", [entry(0, 1), entry(1, 2)], [entry(9, 1, group="1")])
run("gap", [entry(0, 1), entry(1, 2), entry(2, 3)], [entry(0, 1), entry(2, 3)])
run("other_op", [entry(0, 1), entry(1, 2, "new_thing")], [entry(0, 1)])
# rank 1 lists the members in another order, or not at all; rank 2 lists none
run("order", *[[entry(0, 1), entry(1, 1, f"{name} {r}->{1 - r}")] for r, name in PAIR])
RUNS["order"][1]["pg_config"]["0"]["ranks"] = "[1, 0]"
run("half_listed", *[[entry(0, 1), entry(1, 2), entry(2, 1, group="7")] for r in range(3)])
for made in RUNS["half_listed"]:
    made["pg_config"]["7"] = {"ranks": [0, 1, 2]}
RUNS["half_listed"][1]["pg_config"] = {"7": {"ranks": [2, 0, 1]}}
RUNS["half_listed"][2]["pg_config"] = {}
run("half_missing", [entry(0, 1), entry(1, 2)], [entry(0, 1)])
RUNS["half_missing"][1]["pg_config"] = {}
# the first entry has no time, or none has
run("late_time", [entry(0, 1, time_created_ns=None), entry(1, 2), entry(2, 3)], [entry(0, 1)])
run("no_time", [entry(0, 1, time_created_ns=None)], [entry(0, 1)])
RUNS["no_dump"] = [dump([entry(0, 1)], 3), dump([entry(0, 1)], 3)]
RUNS["empty"] = [dump([]), dump([])]


def write(folder):
    for name, ranks in RUNS.items():
        (folder / name).mkdir()
        for rank, made in enumerate(ranks):
            protocol = (2, 4)[rank % 2]  # with and without frames and MEMOIZE
            (folder / name / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(made, protocol))


def pickles():
    """Pickles that are refused, with what the message says."""
    deep = b"(" * 65 + b"."
    text = b"X\xff\xff\xff\xffab."
    return {
        "global": (b"\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R.", "byte 2 .*0x63 .GLOBAL"),
        "stack_global": (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "byte 14 .*STACK_GLOBAL"),
        "reduce": (b"\x80\x02]q\x00)R.", "byte 6 .*REDUCE"),
        "build": (b"\x80\x02}q\x00}b.", "byte 6 .*BUILD"),
        "object": (b"\x80\x02]]\x81.", "byte 4 .*NEWOBJ"),
        "long_text": (b"\x80\x02" + text, "ends within a value"),
        "huge_text": (b"\x80\x04\x8d" + struct.pack("<Q", 2**63) + b"ab.", "ends within a value"),
        "marks": (b"\x80\x02" + deep, "nested more than 64"),
        "depth": (b"\x80\x02]" + b"\x85" * 65 + b".", "nested more than 64"),
        "no_value": (b"\x80\x02a.", "finds no container"),
        "under_mark": (b"\x80\x02]K\x01(a.", "finds no container"),
        "no_mark": (b"\x80\x02]e.", "finds no mark"),
        "no_memo": (b"\x80\x02h\x07.", "has no value"),
        "far_memo": (b"\x80\x02]r\xff\xff\xff\xff.", "too large"),
        "odd_dict": (b"\x80\x02}(K\x01u.", "key without a value"),
        "no_stop": (b"\x80\x02]", "ends within a value"),
        "two_values": (b"\x80\x02]].", "another number of values"),
        "values": (b"\x80\x02(" + b"]" * (2**22 + 1), "more than 4194304 values"),
        "protocol": (b"\x80\x05\x80\x06].", "newer pickle protocol"),
        "self": (b"\x80\x02}q\x00X\x07\x00\x00\x00entriesh\x00s.", "no list of entries"),
        "not_a_dump": (b"\x80\x02]q\x00.", "not a dictionary"),
        "json": (b'{"entries": [', "nor valid JSON"),
        "json_entry": (b'{"entries": [1]}', "entry is not a dictionary"),
        "json_values": (b'{"entries": [' + b"0," * 2**22 + b"0]}", "more than 4194304 values"),
        "json_deep": (b'{"entries": ' + b"[" * 70 + b"]" * 70 + b"}", "nested more than 64"),
    }


def dumped(zeroproof, path):
    return subprocess.run([zeroproof, "trace", "dump", path, "--json"], capture_output=True)


def check(name, good, why=""):
    print(f"ok {name}" if good else f"not ok {name}: {why}")


def hostile(zeroproof, sample, folder):
    wrong = []
    for name, (data, message) in pickles().items():
        (folder / name).write_bytes(data)
        got = dumped(zeroproof, folder / name)
        text = got.stderr.decode()
        if got.returncode != 2 or not re.search(message, text) or "Sanitizer" in text:
            wrong.append(f"{name}: {got.returncode}, {text[:200]}")
    check("refused_pickles_name_the_byte_and_the_opcode", not wrong, wrong)

    data, dice, wrong = sample.read_bytes(), random.Random(1), []
    changed = [data[:n] for n in range(0, len(data), 13)]
    for _ in range(300):
        bad = bytearray(data)
        for _ in range(dice.choice([1, 1, 3])):
            bad[dice.randrange(len(bad))] = dice.randrange(256)
        changed.append(bytes(bad))
    accepted = 0
    for i, bad in enumerate(changed):
        (folder / "changed").write_bytes(bad)
        got = dumped(zeroproof, folder / "changed")
        text = got.stderr.decode(errors="replace")
        accepted += got.returncode == 0
        if got.returncode not in (0, 2) or "Sanitizer" in text or "runtime error" in text:
            wrong.append(f"{i}: {got.returncode}, {text[:200]}")
        elif got.returncode == 0:
            json.loads(got.stdout)
        elif not text:
            wrong.append(f"{i}: exit code 2 without a message")
    check("changed_bytes_of_a_pickle_never_crash", not wrong, wrong[:3])
    check("some_changed_pickles_are_still_read", 0 < accepted < len(changed), accepted)


def shared():
    """Small pickles that use a container in 100,000 places, with the message."""
    many = 100_000
    frame = {"name": "g", "filename": "/home/user/torch/distributed/x.py", "line": 1}
    keys = {f"key {i}": None for i in range(many)}
    in_groups = [entry(0, 1, group=str(i)) for i in range(64)]
    members = dump(in_groups)
    ranks = list(range(2**17))
    members["pg_config"] = {str(i): {"ranks": ranks} for i in range(64)}
    return {
        "frames": (dump([entry(0, 1, frames=[frame] * many)] * many), "more than 1073741824 steps"),
        "keys": (dump([{**entry(0, 1), **keys}] * many), "more than 1073741824 steps"),
        "members": (members, "more than 2.22 members"),
    }


def amplified(zeroproof, folder):
    wrong = []
    for name, (made, message) in shared().items():
        (folder / name).write_bytes(pickle.dumps(made, 2))
        got = dumped(zeroproof, folder / name)
        text = got.stderr.decode()
        if got.returncode != 2 or not re.search(message, text) or "Sanitizer" in text:
            wrong.append(f"{name}: {got.returncode}, {text[:200]}")
    check("a_container_in_many_places_is_refused_in_time", not wrong, wrong)


def groups(zeroproof, folder):
    """128 dumps with 1,024 groups each, of all ranks. Every other dump lists no members. A search
    of all groups for each takes minutes of processor time; the limit is 50 times what is needed."""
    ranks = list(range(128))
    for rank in ranks:
        names = [f"g{rank}_{i}" for i in range(1024)]
        entries = [
            {
                "record_id": i,
                "process_group": [name, ""],
                "collective_seq_id": 1,
                "profiling_name": "nccl:new_thing",
            }
            for i, name in enumerate(names)
        ]
        config = {name: {"ranks": ranks} for name in names} if rank % 2 else {}
        made = {"version": "2.10", "entries": entries, "pg_config": config}
        (folder / f"dump_{rank}").write_bytes(pickle.dumps(made, 2))
    limited = 'ulimit -t 60 && exec "$0" trace check "$1"'
    got = subprocess.run(["sh", "-c", limited, zeroproof, folder], capture_output=True)
    text = got.stdout.decode() + got.stderr.decode()
    good = got.returncode == 1 and "131072 entries are not judged" in text
    name = "the_time_of_the_alignment_does_not_grow_with_the_square_of_the_groups"
    check(name, good, f"{got.returncode}, {text[:300]}")


EXTREMES = (-(2**70), -(2**63), -(2**31), -1, 0, 2**31 - 1, 2**31, 2**32, 2**62 - 1, 2**62)
EXTREMES += (2**63 - 2, 2**63 - 1, 2**63, 2**70)
# what the reader refuses at 2^62 and more, and the others that it reads
LIMITED = ("record_id", "time_created_ns", "collective_seq_id", "p2p_seq_id")
OTHERS = ("timeout_ms", "line", "input_sizes", "output_sizes", "ranks")


def with_integer(field, values):
    """Dumps of two ranks in which a field has these values, one after the other."""
    made = []
    for rank in (0, 1):
        name = ("send 0->1", "recv 1<-0")[rank] if field == "p2p_seq_id" else "all_reduce"
        entries = [entry(i, i + 1, name) for i in range(len(values))]
        for e, value in zip(entries, values, strict=True):
            if field == "line":
                e["frames"] = [{"name": "f", "filename": "/home/user/a.py", "line": value}]
            elif field.endswith("sizes"):
                e[field] = [[value, 2], [value]]
            elif field != "ranks":
                e[field] = value
        made.append(dump(entries))
        if field == "ranks":
            made[-1]["pg_config"]["0"]["ranks"] = values
    return made


def integers(zeroproof, folder):
    wrong, kept = [], []
    # values next to each other too: the reader compares and subtracts them
    lists = [[v, v] for v in EXTREMES] + [[a, b] for a, b in pairwise(EXTREMES)]
    lists.append([2**63 - 2, 2**63 - 1, 2**63 - 1])
    for field in LIMITED + OTHERS:
        for values in lists:
            for rank, made in enumerate(with_integer(field, values)):
                (folder / f"dump_{rank}").write_bytes(pickle.dumps(made, 2))
            run = [zeroproof, "trace", "check", folder]
            for got in (
                subprocess.run(run, capture_output=True),
                dumped(zeroproof, folder / "dump_0"),
            ):
                text = got.stderr.decode() + got.stdout.decode()
                if (
                    got.returncode not in (0, 1, 2)
                    or "Sanitizer" in text
                    or "runtime error" in text
                ):
                    wrong.append(f"{field} {values}: {got.returncode}, {text[:300]}")
                if field in LIMITED and max(values) >= 2**62 and got.returncode != 2:
                    kept.append(f"{field} {values}: {got.returncode}, {text[:300]}")
    check("extreme_integers_in_any_field_never_overflow", not wrong, wrong[:3])
    check("numbers_from_2_to_the_62_on_are_refused", not kept, kept[:3])


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(Path(sys.argv[2]))
    elif sys.argv[1] in ("integers", "amplified", "groups"):
        globals()[sys.argv[1]](sys.argv[2], Path(sys.argv[3]))
    else:
        hostile(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
