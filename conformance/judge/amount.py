"""Whether the ledgers of all ranks communicate enough. LEDG-6"""

import checkpoint
import groups
from ledger import REDUCING, ops


def per_step(records):
    """[records before step 0, of step 0, of step 1, …]"""
    parts = [[]]
    for record in records:
        if "step" in record and "op" not in record:
            parts.append([])
        else:
            parts[-1].append(record)
    return parts


def wrong_steps(case, ledgers):
    """What is wrong with the "step" records of the ledgers, or None. Without them, no demand on a
    single step could be judged."""
    expected = list(range(checkpoint.begins(case), case["steps"]))
    for rank, records in enumerate(ledgers):
        steps = [r["step"] for r in records if "step" in r and "op" not in r]
        missing = [step for step in expected if step not in steps]
        if missing:
            return f'rank {rank}\'s ledger has no {{"step": {missing[0]}}} record'
        if steps != expected:
            got, right = (", ".join(map(str, some[:10])) for some in (steps, expected))
            return f'"step" records of rank {rank}\'s ledger: got {got}, expected {right}'
    return None


def records_of(case, records, step):
    """The records of a step, or None if the ledger has not all steps after the checkpoint."""
    parts, begins = per_step(records)[1:], checkpoint.begins(case)
    return parts[step - begins] if len(parts) == case["steps"] - begins else None


def reach(ledgers, world):
    """rank -> a number that is equal for ranks connected by some communication."""
    of = list(range(world))

    def root(i):
        while of[i] != i:
            i = of[i]
        return i

    for rank, records in enumerate(ledgers):
        for record in ops(records):
            for q in record.get("group", [record.get("peer", rank)]):
                of[root(q)] = root(rank)
    return [root(i) for i in range(world)]


def reduced_elements(record):
    count = sum(record["counts"]) if "counts" in record else record.get("count", 0)
    if record["op"] == "reduce_scatter":
        return count if "counts" in record else count * len(record["group"])
    if record["op"] in REDUCING or record["op"] == "all_to_all":
        return count
    if record["op"] == "send":
        return count
    return 0


def received_elements(record, rank):
    """Elements that an operation can deliver to a rank from others, reductions excluded."""
    if record["op"] == "all_gather":
        return (
            record["count"] * (len(record["group"]) - 1)
            if "counts" not in record
            else sum(record["counts"])
        )
    if record["op"] == "broadcast":
        return 0 if record.get("root") == rank else record.get("count", 0)
    if record["op"] in ("recv", "all_to_all", "scatter"):
        return record.get("count", 0)
    return 0


def ungathered(case, ledgers, answer, skipped):
    """Checks that a rank with masters for a part of the parameters receives the others: by any
    operation that can deliver them, including all-reduces beyond those that the gradients need.
    Returns the first rank that does not: (text, symptom), or None."""
    for rank, mine in enumerate(answer["ranks"]):
        t = case["topology"]
        for step in range(checkpoint.begins(case), case["steps"]):
            result, records = mine["steps"][step], records_of(case, ledgers[rank], step)
            if records is None or skipped[step] or "masters" not in result:
                continue
            own, all_ = 0, 0
            for entry in case["parameters"]:
                if (
                    entry["stage"] != rank // (t["dp"] * t["tp"])
                    or entry["frozen"]
                    or entry["tied"] is not None
                    or groups.since(case, entry) > step
                ):
                    continue
                all_ += entry["numel"]
                own += sum(
                    len(run[1])
                    for run in result["masters"].get(entry["name"], [])
                    if isinstance(run[1], list)
                )
            records = ops(records)
            came = sum(received_elements(r, rank) for r in records)
            came += max(
                0, sum(r.get("count", 0) for r in records if r["op"] == "all_reduce") - all_
            )
            if came < all_ - own:
                text = (
                    f"step {step}, rank {rank}: parameter elements received: got {came}, expected "
                    f"at least {all_ - own}: the rank owns {own} of {all_}"
                )
                return text, "some elements received" if came else "no element received"
    return None


def groups_of(case):
    """Every data-parallel group: (pp, tp, members)."""
    t = case["topology"]
    for p in range(t["pp"]):
        for i in range(t["tp"]):
            yield p, i, [(p * t["dp"] + d) * t["tp"] + i for d in range(t["dp"])]


def needed_elements(case, p, step):
    """The elements of stage p that some micro-batch of a step uses."""
    used = {}  # uses of one tied key on one stage are one tensor
    for j, entry in enumerate(case["parameters"]):
        if (
            entry["stage"] == p
            and not entry["expert"]
            and any(b[j] is not None for b in case["data"][step])
        ):
            used[j if entry["tied"] is None else f"t{entry['tied']}"] = entry["numel"]
    return sum(used.values())


def reductions(case, ledgers, q, step, members):
    """The number of elements of each reduction that rank q enters in a step with other members of a
    group."""
    records = records_of(case, ledgers[q], step)
    records = ops(ledgers[q]) if records is None else records
    return [
        reduced_elements(r)
        for r in records
        if "op" in r and len(set(r.get("group", [q, r.get("peer")])) & set(members)) > 1
    ]


def unreplicated(case, ledgers, step, members):
    """The fewest elements that the ranks of a replica together reduce with other replicas."""
    size, found = len(members) // case["replicas"], []
    for mine in (members[i : i + size] for i in range(0, len(members), size)):
        others = set(members) - set(mine)
        found.append(sum(sum(reductions(case, ledgers, q, step, {q, *others})) for q in mine))
    return min(found)


def too_little(case, ledgers):
    """(text, symptom words) if gradients were communicated too little, else None.

    Whichever collectives a subject chooses, in each step, data-parallel group and between replicas
    at least as many elements are reduced as some rank uses, and the ranks are connected."""
    reachable = reach(ledgers, case["world"])
    for p, _, members in groups_of(case):
        for step in range(checkpoint.begins(case), case["steps"] if len(members) > 1 else 0):
            needed = needed_elements(case, p, step)
            if needed and len({reachable[q] for q in members}) > 1:
                text = f"ranks {members} share {needed} gradient elements but never communicate"
                return text, ["never"]
            apart = unreplicated(case, ledgers, step, members) if case["replicas"] > 1 else needed
            if apart < needed:
                text = f"step {step}: gradient elements reduced between replicas of ranks {members}"
                return f"{text}: got {apart}, expected at least {needed}", ["replicas"]
            reduced = [sum(reductions(case, ledgers, q, step, members)) for q in members]
            if min(reduced) < needed:
                return (
                    f"step {step}, rank {members[reduced.index(min(reduced))]}: gradient elements "
                    f"reduced: got {min(reduced)}, "
                    f"expected at least {needed}, shared by ranks {members}",
                    ["ranks agree" if len(set(reduced)) == 1 else "ranks differ"],
                )
    return None


def reduces_only_scalars(case, ledgers):
    """True if data-parallel groups reduce single elements only: statistics, never gradients."""
    groups = [members for _, _, members in groups_of(case) if len(members) > 1]
    return bool(groups) and all(
        count <= 1
        for members in groups
        for q in members
        for step in range(checkpoint.begins(case), case["steps"])
        for count in reductions(case, ledgers, q, step, members)
    )
