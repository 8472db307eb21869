"""Configuration files: changed JSON, read by plan and sim."""

import mutate
import samples


class Kind:
    name = "configs"

    def __init__(self, _made):
        pass

    def make(self, dice):
        document = dice.choice(samples.CONFIGS)
        given = {"in.json": {"bytes": mutate.json_bytes(dice, document)}}
        if dice.random() < 0.1:
            given = {"in.json": {"bytes": mutate.data_bytes(dice, mutate.dump(document))}}
        if dice.random() < 0.03:
            mutate.kind_of_file(dice, given)
        argv = dice.choice(
            [
                ["plan", "--config", "in.json"],
                ["plan", "--config", "in.json", "--json"],
                ["plan", "--config", "in.json", "--check"],
                ["plan", "--config", "in.json", "--rank", "0", "--shards", "--ledger"],
                ["sim", "--config", "in.json"],
                ["sim", "--config", "in.json", "--json", "--steps", "1"],
                ["train", "--config", "in.json", "--steps", "1", *samples.MODEL],
            ]
        )
        return {
            "argv": ["{zeroproof}", *argv],
            "files": given,
            "json": "--json" in argv,
            "work": True,
        }
