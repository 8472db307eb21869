"""Rates of schedules against rational arithmetic and a cosine of 120 decimal digits. spec: OPT-8

lr_schedule.py DRIVER SOURCE. Without floating point: Python converts the exact fraction to fp64,
rounded once. The formulas in floats, as in a function for PyTorch's LambdaLR, must differ from some
rates: otherwise the cases cannot see last bits."""

import decimal
import fractions
import functools
import math
import pathlib
import random
import re
import subprocess
import sys

DIGITS = 120
F = fractions.Fraction
failed = False


def verdict(good, name, why=""):
    global failed
    failed |= not good
    print(f"ok {name}" if good else f"not ok {name}: {why}")


def arctan_inverse(n):
    """arctan(1/n)."""
    x = decimal.Decimal(1) / n
    total, power, k = x, x, 1
    while abs(power) > decimal.Decimal(10) ** -(DIGITS + 8):
        power = -power / (n * n)
        k += 2
        total += power / k
    return total


@functools.cache
def pi():
    return 4 * (4 * arctan_inverse(5) - arctan_inverse(239))


def pi_in_source(path):
    """The limbs of the constant in lr_schedule.c, the least first, as one integer."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    limbs = re.search(r"static const big pi = {{([^}]*)}}", text)[1].split(",")
    return sum(int(limb, 16) << (32 * i) for i, limb in enumerate(limbs))


def cosine(x):
    total = term = decimal.Decimal(1)
    k = 0
    while abs(term) > decimal.Decimal(10) ** -(DIGITS + 8):
        k += 2
        term = -term * x * x / ((k - 1) * k)
        total += term
    return total


def factor(kind, warmup, total, floor, step):
    """f(s) of OPT-8, exact or with an error below 10^-110."""
    if step < warmup:
        return F(step, warmup)
    if step >= total:
        return F(floor)
    if kind == "linear":
        c = F(total - step, total - warmup)
    else:
        part = F(step - warmup, total - warmup)
        rational = {F(0): F(1), F(1, 3): F(3, 4), F(1, 2): F(1, 2), F(2, 3): F(1, 4)}
        c = rational.get(part)
        if c is None:
            angle = pi() * part.numerator / part.denominator
            c = (1 + F(cosine(angle))) / 2
    return F(floor) + (1 - F(floor)) * c


def in_floats(kind, warmup, total, floor, step):
    if step < warmup:
        return step / warmup
    if step >= total:
        return floor
    part = (step - warmup) / (total - warmup)
    c = 1 - part if kind == "linear" else 0.5 * (1 + math.cos(math.pi * part))
    return floor + (1 - floor) * c


def cases():
    """(kind, warm-up, total, floor, peak, step): all steps of small schedules, and random ones."""
    dice = random.Random(1)
    peaks = [1e-3, 6e-3, 1.0, 3e-4, 1e30, 5e-324, 1e-310, 0.0, -0.0, 2.0**-1022]
    floors = [0.0, 0.1, 1e-9, 1.0, 0.25, 1 / 3]
    for kind in "linear", "cosine":
        for total in 1, 2, 3, 4, 5, 6, 7, 12, 30:
            for warmup in {0, 1, total // 2, total - 1} - {total}:
                for step in range(total + 2):
                    yield kind, warmup, total, dice.choice(floors), dice.choice(peaks), step
        for _ in range(3000):
            total = min(10**9, int(10 ** dice.uniform(0.4, 9.1)))
            warmup = min(total - 1, int(total * dice.choice([0, 0, 0.01, 0.1, 0.9])))
            step = dice.choice([dice.randrange(total), total - 1, warmup + 1, warmup])
            peak = dice.choice([*peaks, math.exp(dice.uniform(-20, 3))])
            floor = dice.choice([*floors, math.exp(dice.uniform(-20, 0))])
            yield kind, warmup, total, floor, peak, step


def main():
    decimal.getcontext().prec = DIGITS + 20
    got_pi, want_pi = pi_in_source(sys.argv[2]), math.floor(F(pi()) * 2**384)
    verdict(got_pi == want_pi, "pi_is_exact", f"{got_pi:x}, expected {want_pi:x}")
    listed = list(cases())
    lines = "".join(
        f"{kind}:{warmup},{total},{floor!r} {peak.hex()} {step}\n"
        for kind, warmup, total, floor, peak, step in listed
    )
    run = subprocess.run([sys.argv[1]], input=lines, capture_output=True, text=True, check=True)
    got = [float.fromhex(line) for line in run.stdout.split()]
    verdict(len(got) == len(listed), "each_case_has_a_rate", f"{len(got)} of {len(listed)}")
    wrong, floats_differ, irrational = [], 0, 0
    for case, rate in zip(listed, got, strict=True):
        kind, warmup, total, floor, peak, step = case
        want = float(F(peak) * factor(kind, warmup, total, floor, step))
        if rate != want:
            wrong.append(f"{case}: {rate.hex()}, expected {want.hex()}")
        floats_differ += peak * in_floats(kind, warmup, total, floor, step) != want
        irrational += kind == "cosine" and warmup < step < total
    verdict(not wrong, "each_rate_is_the_exact_one_rounded_once", "; ".join(wrong[:3]))
    verdict(irrational > 1000, "cosines_occur", f"{irrational}")
    verdict(floats_differ > 500, "floats_would_be_found", f"{floats_differ}")
    return failed


sys.exit(main())
