"""Makes an input smaller that breaks a law, for as long as it still breaks one of the same laws."""

import time

import laws

SECONDS = 10  # for one finding
TRIES = int(laws.SET.get("tries", 30))


def smaller(item):
    """Inputs with one part less: words, files, halves of bytes."""
    files, lines = (
        item.get("files", {}),
        item.get("stdin", b"").splitlines(keepends=True),
    )
    for at in range(len(lines)):
        yield {**item, "stdin": b"".join(lines[:at] + lines[at + 1 :])}
    for at in range(len(item["argv"]) - 1, 1, -1):
        yield {**item, "argv": item["argv"][:at] + item["argv"][at + 1 :]}
        if at + 1 < len(item["argv"]):
            yield {**item, "argv": item["argv"][:at] + item["argv"][at + 2 :]}
    for name in sorted(files):
        yield {**item, "files": {n: e for n, e in files.items() if n != name}}
        data = files[name].get("bytes", b"")
        if len(data) > 1:
            half = len(data) // 2
            for part in (data[:half], data[half:]):
                yield {**item, "files": {**files, name: {"bytes": part}}}


def reduced(item, broken, run):
    """`run` gives the laws that an input breaks."""
    end, tries, again = time.monotonic() + SECONDS, 0, True
    while again:
        again = False
        for one in smaller(item):
            if tries == TRIES or time.monotonic() > end:
                return item
            tries += 1
            if broken & set(run(one)):
                item, again = one, True
                break
    return item
