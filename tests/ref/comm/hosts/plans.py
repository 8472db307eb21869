"""The cases: faults in turn, their place, moment and topology drawn from a seed."""

import random

import world

# pp and dp of six ranks, and what else the bits depend on
TOPOLOGIES = (
    "--pp 2 --dp 3 --stage 2 --reduce exact --precision bf16",
    "--pp 3 --dp 2 --stage 1 --reduce ordered --precision fp16",
    "--pp 1 --dp 6 --stage 0 --reduce exact --precision fp32",
    "--pp 1 --dp 6 --stage 2 --reduce ordered --precision bf16",
    "--pp 3 --dp 2 --stage 2 --reduce exact --precision bf16 --dynamic-shapes",
)
STEPS = 20
SENT = 400_000  # every topology sends more from each host in STEPS steps
RESULT, ERRORS = ["result"], ["errors"]
SHORT_S = 30  # a deadline that a busy machine does not reach, and a fault does
LONG_S = 120  # a deadline that no case with a right result reaches
# what the last line of the launcher says
ON_HOST = r"ranks? \d+(, \d+)* on host-[abc]"


def _fault(fault, label, **more):
    return {"fault": fault, "label": label, "network": "bridge", **more}


def _no_fault(draw):
    network = draw.choice(["bridge", "forwarder"])
    return _fault("none", "none", network=network, ends=RESULT)


def _kill_rank(draw):
    return _fault("kill_rank", "kill -9 of a rank", rank=draw.randrange(6), ends=ERRORS)


def _stop_rank(draw):
    return _fault("stop_rank", "SIGSTOP of a rank", rank=draw.randrange(6), ends=ERRORS)


def _kill_daemon(draw):
    host = draw.choice(world.NAMES)
    return _fault("kill_daemon", "kill -9 of a daemon", host=host, ends=ERRORS)


def _stop_daemon(draw):
    host = draw.choice(world.NAMES)
    return _fault("stop_daemon", "SIGSTOP of a daemon", host=host, ends=RESULT + ERRORS)


def _link_down(seconds, deadline_s, ends):
    def make(draw):
        label = f"link down for {seconds} s, deadline {deadline_s} s"
        host, network = draw.choice(world.NAMES), draw.choice(["bridge", "forwarder"])
        more = {"host": host, "network": network, "seconds": seconds, "deadline": deadline_s}
        return _fault("link_down", label, ends=ends, **more)

    return make


def _half_open(draw):
    more = {"host": draw.choice(world.NAMES), "outwards": draw.random() < 0.5}
    label = "frames lost in one direction"
    return _fault("half_open", label, network="forwarder", ends=ERRORS, **more)


def _frames(label, steps, **how):
    def make(draw):
        del draw
        more = {"network": "forwarder", "steps": steps, **how}
        return _fault("none", label, ends=RESULT, **more)

    return make


MAKERS = (
    _link_down(60, 300, RESULT),  # the longest ones first
    _stop_daemon,
    _frames("5 % loss, 200 ms delay, reordering", 1, loss=0.05, delay_s=0.2, jitter_s=0.05),
    _frames("200 ms delay", 1, delay_s=0.2),
    _link_down(60, SHORT_S, ERRORS),
    _half_open,
    _stop_rank,
    _kill_daemon,
    _kill_rank,
    _frames("5 % loss", 4, loss=0.05),
    _link_down(5, LONG_S, RESULT),
    _link_down(1, LONG_S, RESULT),
    _frames("reordering", 8, delay_s=0.002, jitter_s=0.02),
    _no_fault,
)


def make(count, seed):
    """The first `count` cases of a seed, long ones first."""
    cases = []
    for number in range(count):
        draw = random.Random(f"{seed} {number}")
        case = {"host": draw.choice(world.NAMES), "deadline": LONG_S, "last": ON_HOST}
        case.update(MAKERS[number % len(MAKERS)](draw))
        case["seed"] = f"{seed} {number}"
        if "rank" in case:
            rank = case["rank"]
            case["host"] = world.NAMES[rank // 2]
            case["last"] = rf"rank {rank}( \(pid \d+\))? on {case['host']}\b"
        if case["fault"] in ("stop_rank", "half_open", "stop_daemon"):
            case["deadline"] = SHORT_S
        if case["fault"] == "kill_daemon":
            case["last"] = case["host"] if case["host"] != "host-a" else "mpirun was ended by"
        steps = case.pop("steps", STEPS)
        case["train"] = f"{draw.choice(TOPOLOGIES)} --steps {steps} --seed {draw.randrange(1000)}"
        case["sent"] = draw.choice([0, 20_000, draw.randrange(SENT)])
        case["limit_s"] = 400 + 3 * case["deadline"]
        case["name"] = f"{number}: {case['label']}"
        cases.append(case)
    return sorted(cases, key=lambda case: MAKERS_ORDER[case["label"]])


def wrong():
    """Cases whose expectation is wrong on purpose, each with what must be reported."""
    base, plain = make(len(MAKERS), "wrong"), "--pp 2 --dp 3 --steps 3"
    by_label = {case["label"]: case for case in base}
    none, kill = by_label["none"], by_label["kill -9 of a rank"]
    return [
        (
            dict(none, name="bits of another seed", alone=f"{plain} --seed 2", train=plain),
            "the bits",
        ),
        (dict(none, name="one host instead of three", slots=[6]), "the hosts are"),
        (dict(none, name="no error where one is expected", ends=ERRORS), "ended with result"),
        (dict(kill, name="a result where an error comes", ends=RESULT), "ended with errors"),
        (dict(kill, name="another rank is named", last="rank 6 on host-d"), "does not match"),
        (dict(kill, name="a survivor without a log", log="/tmp/other"), "reports ''"),
    ]


MAKERS_ORDER = {maker(random.Random(0))["label"]: i for i, maker in enumerate(MAKERS)}
