"""Checkpoints whose checksums are right: after each change they are computed again, so that the
reader after the checksum gets the damage."""

import json
import struct

import mutate
import samples

HEAD = b'{"xxh3_128": "'
RECORD = struct.Struct("<IIIIQQ")
RECORD_BYTES, FILE_HEAD = 32, 16


def records(data):
    """[[six numbers, values]] of a data file."""
    found, at = [], FILE_HEAD
    while at + RECORD_BYTES <= len(data):
        head = list(RECORD.unpack_from(data, at))
        at += RECORD_BYTES
        found.append([head, data[at : at + 4 * head[5]]])
        at += 4 * head[5]
    return found


def written(data, found):
    """The data file with these records."""
    widths = (32, 32, 32, 32, 64, 64)
    parts = [data[:FILE_HEAD]]
    for head, values in found:
        parts.append(RECORD.pack(*(n % (1 << w) for n, w in zip(head, widths, strict=True))))
        parts.append(values)
    return b"".join(parts)


def change_records(dice, data):
    found = records(data)
    at = dice.randrange(len(found))
    pick = dice.randrange(7)
    if pick == 0:
        del found[at]
    elif pick == 1:
        found.insert(at, found[dice.randrange(len(found))])
    elif pick == 2:
        found[at:at] = [found[at]] * dice.choice([3, 400])
    elif pick == 3:
        values = dice.choice([b"\xff", b"\0\0\x80\x7f", b"\1\0\0\0", b"\0\0\xc0\x7f"])
        found[at] = [found[at][0], (values * len(found[at][1]))[: len(found[at][1])]]
    elif pick == 4:
        found = []
    else:
        head, i = list(found[at][0]), dice.randrange(6)
        near = head[i] + dice.choice([-1, 1, 2])
        head[i] = near if dice.random() < 0.5 else dice.choice(mutate.INTEGERS)
        values = found[at][1]
        if dice.random() < 0.3:
            values = values[: dice.randrange(len(values) + 1)]
        found[at] = [head, values]
    out = written(data, found)
    return mutate.data_bytes(dice, out) if dice.random() < 0.1 else out


def opened(files):
    """The current folder, its manifest's name, and the manifest without its checksum."""
    words = files["ck/LATEST"].decode().split()
    step = words[words.index("current") + 1]
    manifest = f"ck/{step}/manifest.json"
    document = json.loads(files[manifest])
    del document["xxh3_128"]
    return step, manifest, document


def latest(step, manifest, previous):
    """The text of LATEST without its last line, the checksum."""
    line = f"current {step} {manifest[len(HEAD) : len(HEAD) + 32].decode()}\n"
    return ("zeroproof-latest 1\n" + line + f"previous {previous}\n").encode()


class Kind:
    name = "checkpoints"

    def __init__(self, made):
        self.saved, self.xxh3 = made.checkpoints(), made.xxh3
        self.programs = [["{zeroproof}", "train"]]
        if made.simdev:
            self.programs.append(["{simdev}", "train", "--engine", "cuda"])

    def sealed(self, body):
        """The text of a manifest (without its first field) with its checksum."""
        text = HEAD + b"0" * 32 + b'",' + body
        return text.replace(b"0" * 32, self.xxh3(text), 1)

    def unchanged(self):
        """Each checkpoint with its checksums computed again: (what, item, exit codes)."""
        for number, saved in enumerate(self.saved):
            files = dict(saved)
            step, manifest, document = opened(files)
            for name in [n for n in files if n.startswith(f"ck/{step}/") and n.endswith(".bin")]:
                files[name] = written(files[name], records(files[name]))
            files[manifest] = self.sealed(mutate.dump(document)[1:] + b"\n")
            text = latest(step, files[manifest], "-")
            files["ck/LATEST"] = text + b"xxh3_128 " + self.xxh3(text) + b"\n"
            given = {name: {"bytes": data} for name, data in files.items()}
            for program in self.programs:
                argv = [*program, "--load", "ck", "--steps", "1", *samples.MODEL]
                yield f"{number} {program[0]}", {"argv": argv, "files": given}, (0,)

    def files(self, dice):
        files = dict(dice.choice(self.saved))
        step, manifest, document = opened(files)
        data_names = [n for n in files if n.startswith(f"ck/{step}/") and n.endswith(".bin")]
        what = dice.choice(
            ["manifest", "manifest", "records", "records", "latest", "files", "both"]
        )
        if what in ("records", "both"):
            name = dice.choice(data_names)
            files[name] = change_records(dice, files[name])
            for one in document["files"]:
                if name.endswith("/" + one["name"]):
                    one["bytes"] = len(files[name])
                    one["xxh3_128"] = self.xxh3(files[name]).decode()
        body = mutate.dump(document)[1:] + b"\n"
        if what in ("manifest", "both"):
            body = mutate.json_bytes(dice, document)[1:] + b"\n"
        if what == "files":
            for one in document["files"]:
                one["name"] = dice.choice(
                    [
                        "rank-0.bin",
                        "../elsewhere/kept",
                        "rank-99999999999.bin",
                        "rank-.bin",
                        "",
                    ]
                )
            body = mutate.dump(document)[1:] + b"\n"
        files[manifest] = self.sealed(body)
        text = latest(step, files[manifest], dice.choice(["-", "step-1", step]))
        if what == "latest":
            other = dice.choice(
                ["step-9", "../elsewhere", "step-1.9999", "step-" + "9" * 70, "step-"]
            )
            text = text.replace(step.encode(), other.encode())
            text = mutate.data_bytes(dice, text) if dice.random() < 0.3 else text
        files["ck/LATEST"] = text + b"xxh3_128 " + self.xxh3(text) + b"\n"
        return {name: {"bytes": data} for name, data in files.items()}, step

    def make(self, dice):
        given, step = self.files(dice)
        if dice.random() < 0.08:
            mutate.kind_of_file(dice, given)
        if dice.random() < 0.05:  # a folder of the checkpoint is a link
            moved = {n.replace(f"ck/{step}/", "other/"): e for n, e in given.items()}
            given = {**moved, f"ck/{step}": {"link": "../other"}}
        load = dice.choice(["ck", "ck", "ck", f"ck/{step}", f"ck/{step}/manifest.json"])
        argv = [*dice.choice(self.programs), "--load", load, "--steps", "1", *samples.MODEL]
        writes = []
        if dice.random() < 0.3:
            argv += ["--save", "ck"]
            writes = ["ck"]
        if dice.random() < 0.3:
            argv += ["--json"]
        return {
            "argv": argv,
            "files": given,
            "writes": writes,
            "json": "--json" in argv,
        }
