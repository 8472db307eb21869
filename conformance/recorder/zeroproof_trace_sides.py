"""The parts of a collective's input and result that a rank has, for fingerprints of values.
conformance/TRACE.md, "Values"."""


class Pieces:
    """The tensors of one side of an operation. at: the position of the first byte; the others
    follow it."""

    def __init__(self, tensors, at=0):
        self.tensors, self.at = list(tensors), at


def size_of(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def gathered(inputs, outputs, place):
    """Of operations on several tensors at once: input k becomes a part of output k."""
    before, found = 0, []
    for small, large in zip(inputs, outputs, strict=True):
        found.append(Pieces([small], before + place * size_of([small])))
        before += size_of([large])
    return found


def part(tensors, whole, place):
    """A rank's part of a value that consists of one tensor per rank."""
    return [Pieces(tensors, size_of(whole[:place]))]


# dispatcher operator -> function from its arguments, the rank in the group and the number of
# members to the pieces of the input and of the result. None: this rank has none, or they are not
# compared.
def all_reduce(a, place, members):
    return [Pieces(a["tensors"])], [Pieces(a["tensors"])]


def broadcast(a, place, members):
    root = a["root_rank"] == place
    return [Pieces(a["tensors"])] if root else None, [Pieces(a["tensors"])]


def reduce(a, place, members):
    root = a["root_rank"] == place
    return [Pieces(a["tensors"])], [Pieces(a["tensors"])] if root else None


def all_gather(a, place, members):
    whole = a["output_tensors"][0]
    return part(a["input_tensors"], whole, place), [Pieces(whole)]


def all_gather_base(a, place, members):
    return gathered([a["input_tensor"]], [a["output_tensor"]], place), [
        Pieces([a["output_tensor"]])
    ]


def all_gather_many(a, place, members):
    return gathered(a["inputs"], a["outputs"], place), [Pieces(a["outputs"])]


def reduce_scatter(a, place, members):
    whole = a["input_tensors"][0]
    return [Pieces(whole)], part(a["output_tensors"], whole, place)


def reduce_scatter_base(a, place, members):
    return [Pieces([a["input_tensor"]])], gathered([a["output_tensor"]], [a["input_tensor"]], place)


def reduce_scatter_many(a, place, members):
    return [Pieces(a["inputs"])], gathered(a["outputs"], a["inputs"], place)


def gather(a, place, members):
    sizes = size_of(a["input_tensors"])
    root = a["root_rank"] == place
    whole = a["output_tensors"][0] if root else None
    at = Pieces(a["input_tensors"], place * sizes)
    return [at], [Pieces(whole)] if root else None


def scatter(a, place, members):
    root = a["root_rank"] == place
    at = Pieces(a["output_tensors"], place * size_of(a["output_tensors"]))
    return [Pieces(a["input_tensors"][0])] if root else None, [at]


def all_to_all(a, place, members):
    """Part p of rank r's input is part r of rank p's result: part r · members + p of a value that
    consists of all of them. Parts of several sizes have no such place."""
    given, made = a["input_tensors"], a["output_tensors"]
    sizes = {size_of([part]) for part in [*given, *made]}
    if len(sizes) != 1:
        return None, None
    size = sizes.pop()
    inputs = [Pieces(given, place * members * size)]
    return inputs, [Pieces([part], (r * members + place) * size) for r, part in enumerate(made)]


def all_to_all_base(a, place, members):
    if a.get("input_split_sizes") or a.get("output_split_sizes"):
        return None, None
    whole = {"input_tensors": a["input"], "output_tensors": a["output"]}
    return all_to_all(
        {name: x.detach().reshape(-1).chunk(members) for name, x in whole.items()}, place, members
    )


SIDES = {
    "allreduce_": all_reduce,
    "allreduce_coalesced_": all_reduce,
    "broadcast_": broadcast,
    "reduce_": reduce,
    "allgather_": all_gather,
    "_allgather_base_": all_gather_base,
    "allgather_into_tensor_coalesced_": all_gather_many,
    "reduce_scatter_": reduce_scatter,
    "_reduce_scatter_base_": reduce_scatter_base,
    "reduce_scatter_tensor_coalesced_": reduce_scatter_many,
    "gather_": gather,
    "scatter_": scatter,
    "alltoall_": all_to_all,
    "alltoall_base_": all_to_all_base,
}
