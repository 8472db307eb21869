"""Ledgers (level 2): the answer is right, the records of the ranks are changed."""

import json

import answers
import mutate

OTHER_FILES = ["fifo", "folder", "zero", 1 << 34, 1 << 20]


def parsed(data):
    return [json.loads(line) for line in data.splitlines() if line.strip()]


def lines(records):
    return b"".join(mutate.dump(record).replace(b"\n", b" ") + b"\n" for record in records)


def changed(dice, records, other):
    """Changed records: fields, order, number, and records of another rank."""
    records = mutate.json_copy(records)
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(len(records) + 1)
        pick = dice.randrange(8)
        if pick == 0:
            del records[at:]
        elif pick == 1:
            del records[at : at + 1]
        elif pick == 2:
            records[at:at] = records[max(0, at - 1) : at] * dice.choice([1, 2, 300])
        elif pick == 3 and at < len(records):
            records[at], records[0] = records[0], records[at]
        elif pick == 4:
            records[at:at] = other[at : at + dice.choice([1, 5])]
        elif records:
            mutate.change(dice, records)
    data = lines(records)
    return mutate.data_bytes(dice, data) if dice.random() < 0.15 else data


class Kind(answers.Kind):
    name = "ledgers"
    levels = (2,)

    def __init__(self, made):
        super().__init__(made)
        self.answered = [one for one in self.answered if any(one[2].values())]
        if not self.answered:
            raise ValueError("the project's own adapter wrote no ledger")

    def entry(self, dice, case, answer, ledgers):
        records = {name: parsed(data) for name, data in ledgers.items()}
        files = {name: answers.encoded(data) for name, data in ledgers.items()}
        for name in dice.sample(sorted(records), dice.choice([1, 1, min(2, len(records))])):
            other = records[dice.choice(sorted(records))]
            files[name] = answers.encoded(changed(dice, records[name], other))
        if dice.random() < 0.08:
            files[dice.choice(sorted(files))] = dice.choice(OTHER_FILES)
        return {"line": answers.encoded(json.dumps(answer).encode()), "files": files}
