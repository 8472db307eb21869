"""The Trainer of Hugging Face Transformers on CPU with gloo: its train() runs the whole case. ZeRO
0 is its DDP, ZeRO 1 and 2 its FSDP2, which reduces once per step, or with sync_each_batch after
each micro-batch.

The data set holds the numbers of the micro-batches, and the Trainer's sampler and Accelerate's
data loader decide which rank gets which; each occurs once in a step. The option `tokens` is the
Trainer's second way to divide the loss: the model divides by num_items_in_batch, which the Trainer
counts over micro-batches and ranks.

Checkpoints are those that the Trainer writes by itself (save_strategy) and reads with
resume_from_checkpoint: DDP's in safetensors and torch.save, FSDP2's with Accelerate, whole or,
with the option sharded_checkpoint, sharded.

Trainer(use_cpu=True) uses DDP even if `fsdp` is set: see accelerate_adapter.py, whose stand-in
makes FSDP2 run. Not covered, for the reasons given there: fp16, DDP in bf16, several backward calls
per micro-batch, unused parameters."""

import os

import torch
import torch._dynamo  # noqa: F401  (else DDP imports it in every child)
import transformers
from accelerate.state import DistributedType, PartialState
from accelerate_adapter import HELLO as ACCELERATE
from accelerate_adapter import parallelism, state
from ddp_adapter import gradients
from fsdp_adapter import runs
from torch.distributed.tensor import DTensor
from torch.optim.lr_scheduler import LambdaLR
from torch_adapter import DTYPES, Linear, optimizer_of, serve
from transformers import Trainer, TrainerCallback, TrainingArguments

# What it has from Accelerate, and what differs.
OWN_LOOP = {"option cpu_ram_efficient_loading", "option sync_each_batch"}
HELLO = {
    **ACCELERATE,
    "name": "Transformers Trainer",
    "version": transformers.__version__,
    "returns": [field for field in ACCELERATE["returns"] if field != "loss"],
    "supports": ACCELERATE["supports"],
    "lacks": {
        **ACCELERATE["lacks"],
        "loss": "the Trainer chooses which rank gets a micro-batch",
    },
    "without": [
        *(
            rule
            for rule in ACCELERATE["without"]
            if not OWN_LOOP & set(rule) and rule.get("reload") != "zero"
        ),
        {
            "zero": 0,
            "reload": "zero",
            "why": "the Trainer refuses FSDP's checkpoints without FSDP (trainer.py:3640), and "
            "does not save DDP's in FSDP's format",
        },
        {"zero": 0, "option sharded_checkpoint": True, "why": "an option of FSDP2"},
        {"reload": "no", "option sharded_checkpoint": True, "why": "an option of checkpoints"},
    ],
    "options": {
        "reshard_after_forward": [False, True],
        "tokens": [False, True],
        "sharded_checkpoint": [False, True],
    },
}


class Model(torch.nn.Module):
    """Linear as the Trainer calls models: keyword arguments, and a loss in the result."""

    def __init__(self, linear):
        super().__init__()
        self.linear = linear

    def loss(self, n):
        case, position = self.linear.position.case, self.linear.position
        step, g = divmod(int(n), case["micro_batches"] * case["topology"]["dp"])
        m, position.dp = divmod(g, case["topology"]["dp"])  # whichever rank got it
        return self.linear(step, m)

    def forward(self, n):
        return {"loss": self.loss(n)}


class TokenModel(Model):
    """Divides its loss by the number of tokens, as models do that accept the Trainer's argument."""

    def forward(self, n, labels, num_items_in_batch=None, **_):
        return {"loss": self.loss(n) * (labels != -100).sum() / num_items_in_batch}


def follow(scheduler, optimizer):
    """Adds new groups to a LambdaLR, which has those that the optimizer had when it was made."""
    for group in optimizer.param_groups[len(scheduler.base_lrs) :]:
        scheduler.base_lrs.append(group["lr"])
        scheduler.lr_lambdas.append(scheduler.lr_lambdas[-1])
        group["lr"] *= scheduler.lr_lambdas[-1](scheduler.last_epoch)


class Steps(TrainerCallback):
    """The Trainer passes its optimizer and, with FSDP2, the sharded model."""

    def __init__(self, me, linear):
        self.me, self.linear = me, linear

    def on_train_begin(self, *_, model, optimizer, **__):
        if self.me.load:
            self.me.steps[-1] = state(self.me, self.linear, model, optimizer)

    def on_step_begin(self, *_, optimizer, lr_scheduler, **__):
        self.linear.add_groups(optimizer, len(self.me.steps))
        follow(lr_scheduler, optimizer)
        self.me.begin(len(self.me.steps))

    def on_step_end(self, *_, model, optimizer, **__):
        self.me.steps[-1].update(state(self.me, self.linear, model, optimizer))


class Observed(Trainer):
    """Reports the gradients before they are clipped, and the norm that is logged."""

    def __init__(self, me, linear, **more):
        super().__init__(**more)
        self.me, self.linear = me, linear

    def create_optimizer(self, model=None):
        self.optimizer = optimizer_of(self.me.case, self.linear.groups())
        return self.optimizer

    def create_scheduler(self, num_training_steps, optimizer=None):
        case = self.me.case
        rates = [*case.get("rates", [1.0] * case["steps"]), 1.0]  # it is called after the last step
        self.lr_scheduler = LambdaLR(self.optimizer, lambda step: rates[step])
        return self.lr_scheduler

    def training_step(self, *positional, **named):
        loss = super().training_step(*positional, **named)
        if self.accelerator.sync_gradients:
            found = (
                runs(self.linear, lambda w: w.grad)
                if self.me.case["zero"]
                else gradients(self.linear)
            )
            self.me.steps.append({"gradients": found})
        return loss

    def _get_grad_norm(self, model, grad_norm=None):
        norm = super()._get_grad_norm(model, grad_norm)
        whole = norm.full_tensor() if isinstance(norm, DTensor) else norm
        self.me.steps[-1]["norm"] = float(whole).hex()
        return norm


def arguments(me):
    case, sharded = me.case, me.case["zero"] > 0
    form = "SHARDED" if case["options"]["sharded_checkpoint"] else "FULL"
    made = TrainingArguments(
        output_dir=me.save or me.load or os.path.join(me.folder, "output"),
        use_cpu=True,
        parallelism_config=parallelism(case),
        per_device_train_batch_size=1,
        gradient_accumulation_steps=case["micro_batches"],
        num_train_epochs=1,
        max_grad_norm=case["clip"]["max_norm"] if case["clip"] else 0.0,
        bf16=case["precision"] == "bf16",
        train_sampling_strategy="sequential",
        ddp_find_unused_parameters=True,
        ddp_bucket_cap_mb=case["bucket"] * DTYPES[case["precision"]].itemsize / 2**20,
        fsdp=sharded,
        fsdp_config={
            "reshard_after_forward": case["options"]["reshard_after_forward"],
            "state_dict_type": f"{form}_STATE_DICT",
        }
        if sharded
        else None,
        accelerator_config={"gradient_accumulation_kwargs": {"sync_each_batch": case["zero"] == 2}},
        save_strategy="steps" if me.save else "no",
        save_steps=case["steps"],  # those before the checkpoint
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    if sharded:
        PartialState._shared_state["distributed_type"] = DistributedType.MULTI_GPU
    return made


def main(me):
    case = me.case
    with me.recorder.pause():
        me.environment("zeroproof")
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="1")  # the process group exists
        args = arguments(me)
    linear = Linear(me.position)
    tokens = case["options"]["tokens"]
    item = {"labels": torch.ones(2, dtype=torch.long)} if tokens else {}
    Observed(
        me,
        linear,
        model=(TokenModel if tokens else Model)(linear),
        args=args,
        train_dataset=[
            {"n": n, **item}
            for n in range(case["steps"] * case["micro_batches"] * case["topology"]["dp"])
        ],
        callbacks=[Steps(me, linear)],
    ).train(resume_from_checkpoint=bool(me.load))


if __name__ == "__main__":
    serve(HELLO, main)
