"""Lists the functions of DeepSpeed that an adapter replaces: replaced.py ADAPTER CASE, in an
environment of DeepSpeed.

Runs the case, then prints the names as JSON: functions that differ from those right after the
import of DeepSpeed, and functions of the adapters set on DeepSpeed's objects. The second line is
the same after this script has replaced functions of a class and of an object, to show that the
search finds them."""

import gc
import importlib
import json
import os
import sys
import tempfile
import types

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONFORMANCE = os.path.join(ROOT, "conformance")
HARNESS = (CONFORMANCE, os.path.abspath(__file__))
sys.path.insert(0, os.path.join(CONFORMANCE, "adapters"))
os.environ.update(DS_ACCELERATOR="cpu", DS_BUILD_OPS="0")

import deepspeed  # noqa: E402
from deepspeed.runtime.engine import DeepSpeedEngine  # noqa: E402


def is_theirs(kind):
    return isinstance(kind, type) and str(kind.__module__).partition(".")[0] == "deepspeed"


def functions():
    """name -> function, for all modules and classes of DeepSpeed."""
    found = {}
    for module in [
        m
        for n, m in list(sys.modules.items())
        if n.partition(".")[0] == "deepspeed" and m is not None
    ]:
        for value in list(vars(module).values()):
            if (
                isinstance(value, types.FunctionType)
                and str(value.__module__).partition(".")[0] == "deepspeed"
            ):
                found[f"{value.__module__}.{value.__qualname__}"] = value
            if is_theirs(value):
                found.update(
                    {
                        f"{value.__module__}.{value.__qualname__}.{n}": v
                        for n, v in vars(value).items()
                        if callable(v) or isinstance(v, (staticmethod, classmethod, property))
                    }
                )
    return found


def of_harness(value):
    """True if the code of a function is in the adapters or in this script."""
    code = getattr(getattr(value, "__func__", value), "__code__", None)
    return code is not None and code.co_filename.startswith(HARNESS)


def of_objects():
    """Functions of the harness that override a class's function on an object of DeepSpeed."""
    found = set()
    for thing in gc.get_objects():
        kind = type(thing)
        if is_theirs(kind) and isinstance(getattr(thing, "__dict__", None), dict):
            found |= {
                f"{kind.__module__}.{kind.__qualname__}().{n}"
                for n, v in thing.__dict__.items()
                if hasattr(kind, n) and of_harness(v)
            }
    return found


def inject():
    real, init = DeepSpeedEngine.step, DeepSpeedEngine.__init__

    def wrapped(*args, **kwargs):
        init(*args, **kwargs)
        args[0].backward = lambda *a, **k: DeepSpeedEngine.backward(args[0], *a, **k)

    DeepSpeedEngine.__init__ = wrapped
    DeepSpeedEngine.step = lambda *args, **kwargs: real(*args, **kwargs)


def replaced(adapter, case, injecting):
    import torch_adapter

    def look(me):
        if injecting:
            inject()
        made, real = [], deepspeed.initialize
        deepspeed.initialize = lambda **asked: (
            made.append(real(**asked)) or made[-1]
        )  # keeps the engine alive
        adapter.main(me)
        deepspeed.initialize = real
        now = functions()
        bad = {n for n, f in now.items() if (n in before and f is not before[n]) or of_harness(f)}
        with open(os.path.join(me.folder, "replaced"), "w", encoding="utf-8") as file:
            json.dump(sorted(bad | of_objects()), file)

    with tempfile.TemporaryDirectory() as folder:
        answer = torch_adapter.run(look, case, folder)
        if answer["status"] != "ok":
            sys.exit(answer["message"])
        with open(os.path.join(folder, "replaced"), encoding="utf-8") as file:
            return file.read()


before = functions()
the_adapter = importlib.import_module(sys.argv[1])
with open(sys.argv[2], encoding="utf-8") as the_file:
    the_case = json.load(the_file)
the_case["options"] = {n: values[0] for n, values in the_adapter.HELLO["options"].items()}
print("\n".join([replaced(the_adapter, the_case, injecting) for injecting in (False, True)]))
