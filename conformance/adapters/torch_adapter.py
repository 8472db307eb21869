"""Shared by the adapters of PyTorch programs: the model of a case, records and results. One process
per rank (ranks.py) is forked after all imports. The protocol is that of ADAPTER.md."""

import json
import os
import sys

import ranks

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "recorder"))

checkpoint = ranks.module_of_judge("checkpoint")

import torch  # noqa: E402
from zeroproof_record import Recorder  # noqa: E402

DTYPES = {
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "int32": torch.int32,
}


# Reasons for which several adapters lack values of an axis (ADAPTER.md, "lacks").
MORE_RANKS = "more than four ranks of PyTorch take too long where the suite runs"
ONE_STAGE = {
    **{axis: "it has no pipeline stages" for axis in ("pp", "messages", "stages_groups")},
    "tied": {key: "it has no pipeline stages" for key in ("stages", "keys")},
}
LOOP_SCALES = {
    axis: "the training loop scales the loss and skips steps, not this program"
    for axis in ("scale", "overflow", "skipped")
}
MEGATRON_ONLY = {
    "sequence": "it has no tensor-parallel ranks that sum gradients",
    "cp": "its ranks share no samples: to it, context-parallel ranks are data-parallel ones",
    "etp": "it has no expert-tensor-parallel size",
}
NO_PARALLELISM = {
    **{axis: "it shards over data-parallel ranks alone" for axis in ("tp", "ep")},
    **MEGATRON_ONLY,
}
ONE_STATE = {
    "groups_vary": "rank",
    "reload": ["same", "zero", "dp"],
    "why": "an optimizer loads the state of one with as many groups: the saved one is one rank's",
}
NO_BACKWARDS = "its schedule calls backward once for each micro-batch"


def hexes(tensor):
    return [number_of(x) for x in tensor.detach().double().flatten().tolist()]


def number_of(x):
    return x.hex() if x - x == 0 else str(x)


def tensor_of(row, log2):
    return (torch.tensor([float(k) for k in row], dtype=torch.float64) * 2.0**log2).float()


class Position:
    """A rank's indices in the topology, and the copies that it holds."""

    def __init__(self, case, rank):
        t = case["topology"]
        self.case, self.rank = case, rank
        self.pp, self.dp, self.tp = (
            rank // (t["dp"] * t["tp"]),
            rank // t["tp"] % t["dp"],
            rank % t["tp"],
        )
        self.ep = self.dp % t["ep"]
        self.losses = {}

    def first(self, entry):
        """The first values; other ones on ranks that must receive them, if the case says so."""
        t = self.case["topology"]
        copy = (self.tp if entry["sharded"] else 0) * (t["ep"] if entry["expert"] else 1)
        copy += self.ep if entry["expert"] else 0
        own = self.dp // (t["ep"] if entry["expert"] else 1)
        other = own if self.case.get("start") == "differ" else 0
        other += "reload" in self.case  # all values must come from the checkpoint
        return tensor_of([k + other for k in entry["first"][copy]], self.case["log2_first"])

    def note(self, m, loss):
        """Keeps the loss of micro-batch m, as the forward has computed it."""
        self.losses[m] = self.losses.get(m, 0.0) + float(loss.detach())

    def noted(self):
        """The losses of a step, and forgets them."""
        losses, self.losses = self.losses, {}
        return [number_of(losses[m]) for m in range(self.case["micro_batches"])]

    def batch(self, m):
        return m * self.case["topology"]["dp"] + self.dp

    def row(self, step, m, j, term=0):
        """x of one term of the micro-batch's loss, or None if parameter j takes no part."""
        rows = self.case["data"][step][self.batch(m)][j]
        if rows is None:
            return None
        own = self.case["parameters"][j]["sharded"] or self.case.get("sequence", False)
        x = tensor_of(rows[self.tp if own else 0], self.case["log2_unit"])
        terms = self.case.get("backwards", 1)
        return x if terms == 1 else torch.where(torch.arange(x.numel()) % terms == term, x, 0.0)


def backwards(case):
    """All backwards of a step: (micro-batch, term of its loss, whether it is the last)."""
    terms = case.get("backwards", 1)
    return [
        (m, term, (m, term) == (case["micro_batches"] - 1, terms - 1))
        for m in range(case["micro_batches"])
        for term in range(terms)
    ]


class Linear(torch.nn.Module):
    """The loss of a micro-batch: <w, x> over the parameters that take part. Tied entries share a
    Parameter."""

    def __init__(self, position, entries=None):
        super().__init__()
        self.position = position
        self.entries = [
            j for j in range(len(position.case["parameters"])) if entries is None or j in entries
        ]
        self.w = torch.nn.ParameterDict()
        for j in self.entries:
            entry = position.case["parameters"][j]
            if self.key(j) not in self.w:
                self.w[self.key(j)] = torch.nn.Parameter(
                    position.first(entry), requires_grad=not entry["frozen"]
                )

    def key(self, j):
        entry = self.position.case["parameters"][j]
        return entry["name"] if entry["tied"] is None else f"t{entry['tied']}"

    def of(self, j):
        """The Parameter of entry j."""
        return self.w[self.key(j)]

    def in_dtypes(self):
        """Gives each parameter its dtype: the precision, or fp32 where the case says so."""
        case = self.position.case
        for j in self.entries:
            own = "fp32" if case["parameters"][j].get("fp32") else case["precision"]
            self.of(j).data = self.of(j).data.to(DTYPES[own])
        return self

    def used(self, step, m, term=0):
        """(j, w, x) of the parameters that take part."""
        rows = ((j, self.position.row(step, m, j, term)) for j in self.entries)
        return [(j, self.of(j), x) for j, x in rows if x is not None]

    def forward(self, step, m, term=0):
        terms = [(w.float() * x).sum() for _, w, x in self.used(step, m, term)]
        # if no parameter takes part, a loss without gradients
        loss = sum(terms) if terms else torch.zeros((), requires_grad=True) * 1.0
        self.position.note(m, loss)
        return loss

    def groups(self):
        """The groups of the optimizer when it is made, with their constants, without empty ones. If
        their number differs by rank, odd ranks have the first one in two, of which the second may
        be empty."""
        begins = checkpoint.begins(self.position.case)
        found = self.groups_since(range(max(1, begins)))
        if self.position.case.get("groups_vary") == "rank" and self.position.dp % 2:
            first = found[0]["params"]
            found[:1] = [{**found[0], "params": part} for part in (first[:1], first[1:])]
        return found

    def add_groups(self, optim, step, prepare=lambda: None):
        """Before a step: gives the optimizer the groups that come in this step, and calls prepare()
        before that, if there are any."""
        if any(group.get("since") == step for group in self.position.case["groups"]):
            prepare()
            for group in self.groups_since([step]):
                optim.add_param_group(group)

    def groups_since(self, steps):
        """The groups that the optimizer has since one of these steps."""
        found = []
        for number, group in enumerate(self.position.case["groups"]):
            if group.get("since", 0) not in steps:
                continue
            mine = {
                self.key(j): self.of(j)
                for j in self.entries
                if self.position.case["parameters"][j]["group"] == number
                and not self.position.case["parameters"][j]["frozen"]
            }
            if mine:
                found.append(
                    {
                        "params": list(mine.values()),
                        **{k: v for k, v in group.items() if k not in ("optimizer", "since")},
                        "initial_lr": group["lr"],  # as torch's schedulers keep it
                    }
                )
        return found

    def parameters_by_name(self):
        return {
            self.position.case["parameters"][j]["name"]: hexes(self.of(j)) for j in self.entries
        }


# ---- Pipeline stages (ADAPTER.md) ----------------------------------------------------------------


class Carry(torch.autograd.Function):
    """Returns `out` unchanged and passes the gradient to the loss so far."""

    @staticmethod
    def forward(ctx, out, loss):
        return out.clone()

    @staticmethod
    def backward(ctx, grad):
        flat = grad.flatten().float()
        flat = flat[: flat.numel() - (flat.numel() % 2 == 0)]
        signs = torch.tensor([1.0, -1.0]).repeat(flat.numel())[: flat.numel()]
        return None, (flat * signs).sum()


def stage_loss(tensors, g, used):
    """The loss of one stage: <w, x> times the received factors, plus the loss so far."""

    def factor(j):
        f = 1.0
        for t in tensors:
            if t.is_floating_point():
                f = f * t.detach().flatten()[j % t.numel()].float() / 2 ** (g % 3)
            else:
                f = f * float((t == g).all())
        return f

    loss = torch.zeros((), requires_grad=True) * 1.0
    for j, w, x in used:
        loss = loss + factor(j) * (w.float() * x).sum()
    for t in tensors:
        if t.is_floating_point():
            loss = loss + Arrive.apply(t)
            break
    return loss


class Arrive(torch.autograd.Function):
    """Returns zero and passes its gradient to each element of the received tensor."""

    @staticmethod
    def forward(ctx, t):
        ctx.shape, ctx.dtype = t.shape, t.dtype
        return torch.zeros(())

    @staticmethod
    def backward(ctx, grad):
        return grad.expand(ctx.shape).to(ctx.dtype).contiguous()


def stage_message(tensors, g, loss):
    """The tensors to send: integers filled with g, floats with 2^(g mod 3); the first float carries
    the loss."""
    out, carried = [], False
    for t in tensors:
        if t["dtype"].startswith("int"):
            out.append(torch.full(t["shape"], g, dtype=DTYPES[t["dtype"]]))
            continue
        filled = torch.full(t["shape"], float(2 ** (g % 3)), dtype=DTYPES[t["dtype"]])
        out.append(filled if carried else Carry.apply(filled, loss))
        carried = True
    return out


def optimizer_of(case, groups):
    kind = torch.optim.AdamW if case["groups"][0]["optimizer"] == "adamw" else torch.optim.SGD
    for g in groups:
        if "betas" in g:
            g["betas"] = tuple(g["betas"])
    return kind(groups)


MOMENTS = {"moments1": ("momentum_buffer", "exp_avg"), "moments2": ("exp_avg_sq",)}


def moments(optim, report):
    """The moments of an optimizer of torch.optim; report(value) makes a field of a step, where
    value(parameter) is the parameter's moment or None."""

    def value(names):
        states = optim.state
        return lambda w: next((states[w][n] for n in names if n in states.get(w, ())), None)

    return {field: report(value(names)) for field, names in MOMENTS.items()}


def set_rates(case, optim, step):
    """Sets the learning rates of a step, as a scheduler does."""
    for g in optim.param_groups if "rates" in case else []:
        g["lr"] = g.setdefault("initial_lr", g["lr"]) * case["rates"][step]


def save_whole(me, model, optimizer):
    """Rank 0 saves the model, and the optimizer's state of all ranks."""
    if me.rank == 0:
        whole = {"model": model.state_dict(), "optimizer": optimizer}
        torch.save(whole, os.path.join(me.save, "state.pt"))


def load_whole(me, model):
    """Loads the model that rank 0 saved; returns the optimizer's state."""
    saved = torch.load(os.path.join(me.load, "state.pt"), weights_only=False)
    model.load_state_dict(saved["model"])
    return saved["optimizer"]


# ---- Processes -----------------------------------------------------------------------------------


class Rank(ranks.Rank):
    """Also has the rank's case, position and recorder. save: where its state goes after the last
    step, or None; load: where it comes from before the first step, or None."""

    def __init__(self, case, rank, folder, save=None, load=None):
        super().__init__(rank, folder)
        self.case, self.position = case, Position(case, rank)
        self.save, self.load = save, load
        self.steps = [None] * checkpoint.begins(case)
        self.recorder = Recorder(self.write)

    def environment(self, backend="gloo"):
        """Starts torch.distributed. The backend "zeroproof" is gloo and also records collectives
        issued by C++."""
        import torch.distributed as dist

        if backend == "zeroproof":
            import zeroproof_group

            self.recorder = zeroproof_group.register(self.write)
        os.environ.update(
            RANK=str(self.rank),
            LOCAL_RANK=str(self.rank),
            WORLD_SIZE=str(self.case["world"]),
            LOCAL_WORLD_SIZE=str(self.case["world"]),
        )
        store = dist.FileStore(os.path.join(self.folder, "store"), self.case["world"])
        dist.init_process_group(backend, store=store, rank=self.rank, world_size=self.case["world"])

    def todo(self):
        """The steps to run."""
        return range(checkpoint.begins(self.case), self.case["steps"])


def run(main, case, folder):
    """Runs main(rank) in one process for each rank, and returns the answer. The steps before a
    checkpoint run in processes of their own."""
    earlier, saved = os.path.join(folder, "before"), None
    if "reload" in case:
        saved = os.path.join(folder, "checkpoint")
        os.mkdir(earlier)
        os.mkdir(saved)
        schedule = {"rates": case["rates"]} if "rates" in case else {}  # known from the start
        answer = run_ranks(main, {**checkpoint.before(case), **schedule}, earlier, save=saved)
        if answer["status"] != "ok":
            return answer
    return run_ranks(main, case, folder, load=saved)


def run_ranks(main, case, folder, **where):
    # Every optimizer imports it in its first step, for seconds: here once for all ranks and cases.
    import torch._dynamo  # noqa: F401

    return ranks.run(
        lambda rank: Rank(case, rank, folder, **where),
        main,
        case["world"],
        folder,
        ranks.lost_by_gloo,
    )


def unknown(hello, case):
    """An option, or value of one, that the adapter does not have; or None."""
    for name, value in case["options"].items():
        if value not in hello["options"].get(name, []):
            return f"option {name} = {value} is not one of hello's options"
    return None


def serve(hello, main, refuses=lambda case: None):
    """The adapter's loop. refuses(case): the reason why a case is not supported, or None."""
    if sys.argv[1:]:
        sys.exit(f"{sys.argv[0]}: unknown argument {sys.argv[1]}; an adapter has no arguments")
    out = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)  # output of the subject must not become an answer
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "bye":
            break
        if request["do"] == "hello":
            answer = hello
        else:
            why = unknown(hello, request["case"]) or refuses(request["case"])
            answer = (
                {"status": "unsupported", "message": why}
                if why
                else run(main, request["case"], request["ledgers"])
            )
        out.write(json.dumps(answer) + "\n")
