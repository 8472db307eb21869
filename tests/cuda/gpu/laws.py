"""Prints the verdicts of a test."""

FAILED = []


def law(name, good, why=""):
    print(f"{'ok' if good else 'not ok'} {name}{'' if good else ': ' + str(why)}")
    if not good:
        FAILED.append(name)
