"""The linter: `make lint`. Rules about text (`text`) and about built objects (`symbols`).

lint.py text|symbols|hook|review [--root DIR] [--build DIR] [--only RULE,...]

Prints each violation. Exit code: 0; 1 when there is one; 3 when a rule could not be checked."""

import argparse
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import clauses
import cursors
import includes
import lengths
import links
import processes
import supply
import symbols
import tools
import words
from common import Tree, Unavailable

# What each check reports. Those of TEXT need no build; those that start programs come first, so
# that they run beside the others.
TEXT = [
    (("shellcheck",), lambda t, o: tools.shellcheck_rule(t)),
    (("clang-format",), lambda t, o: tools.clang_format_rule(t)),
    (("header",), lambda t, o: includes.header_rule(t, o.compiler, o.cppflags.split(), o.notes)),
    (("ruff", "ruff-format"), lambda t, o: tools.ruff_rules(t)),
    (("word",), lambda t, o: words.in_text(t)),
    (("name",), lambda t, o: words.in_names(t)),
    (("clause",), lambda t, o: clauses.check(t)),
    (("link",), lambda t, o: links.check(t)),
    (("columns",), lambda t, o: lengths.columns(t)),
    (("file-length",), lambda t, o: lengths.files(t)),
    (("function-length",), lambda t, o: lengths.functions(t)),
    (("layer",), lambda t, o: includes.layer_rule(t)),
    (("internal",), lambda t, o: includes.internal_rule(t)),
    (("callback",), lambda t, o: symbols.callback_rule(t)),
    (("download",), lambda t, o: supply.pip_rule(t)),
    (("lock",), lambda t, o: supply.lock_rule(t)),
    (("process",), lambda t, o: processes.check(t)),
    (("cursor",), lambda t, o: cursors.check(t)),
]
SYMBOLS = [
    (("cycle",), lambda t, o: symbols.cycle_rule(t, o.objects)),
    (("unused",), lambda t, o: symbols.unused_rule(t, o.objects, o.installed.split())),
]


def parse(arguments):
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(prog="lint.py", description=__doc__.split("\n")[0])
    modes = ["text", "symbols", "all", "hook", "review"]
    parser.add_argument("mode", choices=modes)
    parser.add_argument("--root", default=os.path.join(here, "../.."))
    parser.add_argument("--build", help="the build folder: rules about objects")
    parser.add_argument("--compiler", default="gcc")
    parser.add_argument("--cppflags", default="", help="where headers of libraries are")
    parser.add_argument("--installed", default="", help="headers that are installed")
    parser.add_argument("--only", default="", help="rules, separated by commas")
    return parser.parse_args(arguments)


def selected(options):
    # Before a commit the headers of libraries need not be there.
    hook = [check for check in TEXT if check[0] != ("header",)]
    wanted = {"text": TEXT, "hook": hook, "symbols": SYMBOLS}.get(options.mode, TEXT + SYMBOLS)
    if not options.build:
        wanted = [check for check in wanted if check not in SYMBOLS]
    only = set(filter(None, options.only.split(",")))
    unknown = only - {rule for rules, _ in TEXT + SYMBOLS for rule in rules}
    if unknown:
        raise SystemExit(f"lint: there is no rule {', '.join(sorted(unknown))}")
    return [(rules, check) for rules, check in wanted if not only or only & set(rules)]


def load_objects(tree, options):
    """Reads the objects; a source without one is an error, as nothing is known of it."""
    options.objects = symbols.objects(tree, os.path.abspath(options.build))
    lacking = symbols.missing(tree, options.objects)
    if lacking:
        raise SystemExit(f"lint: not built, nothing can be said of: {' '.join(lacking)}")


def check_all(tree, options):
    """{rule: findings}, [why a rule was not checked]"""
    chosen = selected(options)
    if any(check in SYMBOLS for check in chosen):
        load_objects(tree, options)
    found, failed = {}, []

    def one(check):
        began = time.monotonic()
        try:
            return check[0], check[1](tree, options), None, time.monotonic() - began
        except Unavailable as why:
            return check[0], [], str(why), 0

    with ThreadPoolExecutor(4) as pool:
        for rules, findings, why, seconds in pool.map(one, chosen):
            if os.environ.get("LINT_TIMES"):
                print(f"{seconds:6.2f} s {' '.join(rules)}", file=sys.stderr)
            if why:
                failed.append(f"{' '.join(rules)}: not checked: {why}")
                continue
            for rule in rules:
                found[rule] = [f for f in findings if f.rule == rule]
    return found, failed


def message(f):
    where = f"{f.path}:{f.line}" if f.line else f.path
    return f"{where}: {f.rule}: {f.message}"


def main(arguments):
    options = parse(arguments)
    options.notes = []
    tree = Tree(options.root)
    if options.mode == "review":
        print("\n".join(words.review(tree)))
        return 0
    began = time.monotonic()
    found, failed = check_all(tree, options)
    errors = [message(f) for findings in found.values() for f in findings]
    for line in errors + options.notes + failed:
        print(line)
    seconds = time.monotonic() - began
    print(f"lint: {len(found)} rules, {len(errors)} errors, {seconds:.1f} s")
    return 1 if errors else 3 if failed and options.mode != "hook" else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
