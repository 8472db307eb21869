"""Configuration files: changed JSON, read by plan and sim."""

import mutate
import samples

COMMANDS = [
    ["plan", "--config", "in.json"],
    ["plan", "--config", "in.json", "--json"],
    ["plan", "--config", "in.json", "--check"],
    ["plan", "--config", "in.json", "--rank", "0", "--shards", "--ledger"],
    ["sim", "--config", "in.json"],
    ["sim", "--config", "in.json", "--json", "--steps", "1"],
]
# train has its own list of parameters
TRAIN = ["train", "--config", "in.json", "--steps", "1", *samples.MODEL]
PAIRS = [(document, argv) for document in samples.CONFIGS for argv in COMMANDS]
PAIRS += 3 * [(samples.TRAINING, TRAIN)]
SIMDEV = ["sim", "--config", "in.json", "--engine", "cuda", "--steps", "1", "--schedules", "1"]
CUDA = [(document, SIMDEV + more) for document in samples.CONFIGS for more in ([], ["--json"])]
CUDA += 2 * [(samples.TRAINING, [*TRAIN, "--engine", "cuda"])]


class Kind:
    name = "configs"

    def __init__(self, made):
        self.pairs = [("{zeroproof}", *pair) for pair in PAIRS]
        self.pairs += [("{simdev}", *pair) for pair in CUDA if made.simdev]

    def unchanged(self):
        """Each configuration for each command: (what, item, exit codes)."""
        for program, document, argv in self.pairs:
            given = {"in.json": {"bytes": mutate.dump(document)}}
            item = {"argv": [program, *argv], "files": given, "json": "--json" in argv}
            yield f"{mutate.dump(document)[:40]} {argv}", item, (0,)

    def make(self, dice):
        program, document, argv = dice.choice(self.pairs)
        given = {"in.json": {"bytes": mutate.json_bytes(dice, document)}}
        if dice.random() < 0.1:
            given = {"in.json": {"bytes": mutate.data_bytes(dice, mutate.dump(document))}}
        if dice.random() < 0.03:
            mutate.kind_of_file(dice, given)
        return {
            "argv": [program, *argv],
            "files": given,
            "json": "--json" in argv,
            "work": True,
        }
