"""Each rule of the linter reports a planted violation in a small tree of its own.

The same tree without it passes. Prints `ok NAME` or `not ok NAME: WHY`."""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FAILED = []

LAYERS = "spec:\nref/low: spec\nref/high: ref/low\ntests: *\n"
# A tree that breaks no rule: two folders of C, a clause, a script and a Python file.
CLEAN = {
    "spec/clauses.md": "**AA-1** one\n- **AA-2** two\n",
    "ref/low/add.h": "/* spec: AA-1 */\nint zp_add(int a, int b);\n",
    "ref/low/add.c": '#include "add.h"\n\nint zp_add(int a, int b)\n{\n  return a + b;\n}\n',
    "ref/high/twice.c": '/* spec: AA-2 */\n#include "../low/add.h"\n\n'
    "int main(void)\n{\n  return zp_add(1, -1);\n}\n",
    "tests/test_add.sh": "#!/bin/sh\n# AA-1 … AA-2; UTF-8 and AVX-512 are no clauses\necho 1\n",
    "tests/add.py": '"""Adds."""\n\nprint(1 + 1)\n',
    "tests/lint/layers.txt": LAYERS,
}


def lint(root, mode, *options):
    command = [sys.executable, "-B", os.path.join(HERE, "lint.py"), mode, "--root", root, *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def write(root, files):
    for path, text in files.items():
        target = os.path.join(root, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as f:
            f.write(text)


def tree(files):
    """A folder with the clean tree, the linter's own settings, and these files."""
    root = tempfile.mkdtemp(dir=TEMPORARY)
    write(root, CLEAN)
    for name in (".clang-format", "tests/lint/words.txt", "tests/lint/ruff.toml"):
        with open(os.path.join(HERE, "../..", name), encoding="utf-8") as f:
            write(root, {name: f.read()})
    write(root, files)
    return root


def verdict(name, passed, why=""):
    if not passed:
        FAILED.append(name)
    print(f"ok {name}" if passed else f"not ok {name}: {why[-600:]!r}", flush=True)


def expect(name, result, code, *texts):
    said = result.stdout + result.stderr
    missing = [t for t in texts if t not in said]
    why = f"exit code {result.returncode}, expected {code}; missing {missing} in: {said}"
    verdict(name, result.returncode == code and not missing, why)


def planted(name, rule, files, *texts):
    """The rule reports what these files add to the clean tree."""
    expect(name, lint(tree(files), "text", "--only", rule), 1, *texts)


def clause_rule():
    for clause in ("AA-9", "spec: ZZ-1", "spec: AA-1 … AA-3"):
        planted(
            f"an_unknown_clause_id_fails_{clause.replace(' ', '_')}",
            "clause",
            {"ref/low/b.c": f"/* {clause} */\n"},
            "ref/low/b.c:1: clause:",
        )
    uncited = {"spec/more.md": "### BB-1\n"}
    planted(
        "a_clause_without_code_or_test_fails",
        "clause",
        uncited,
        "no code cites BB-1",
        "no test cites BB-1",
    )


def link_rule():
    page = '# One\n\n## The `second` part, 2\n\n<a id="third"></a> `[x](gone.md)`\n'
    page += "\n    [y](gone.md)\n"
    good = "[a](../b.md#the-second-part-2) [b](#a) [c](../b.md#third) [d]\n\n# A\n"
    good += "\n[d]: ../b.md#L3\n"
    expect(
        "links_to_files_headings_anchors_and_lines_pass",
        lint(tree({"b.md": page, "docs/a.md": good}), "text", "--only", "link"),
        0,
    )
    for name, link in (
        ("file", "[a](../c.md)"),
        ("heading", "[a](../b.md#two)"),
        ("line", "[a](../b.md#L99)"),
        ("definition", "[a]\n\n[a]: ../b.md#two"),
    ):
        files = {"b.md": page, "docs/a.md": link + "\n"}
        planted(f"a_link_to_a_missing_{name}_fails", "link", files, "docs/a.md:", "there is no")


def word_rules():
    for form in ("is told.", "IS_TOLD", "WasToldBy", "what nobody does", "it is\n * none."):
        planted(
            f"a_banned_word_fails_in_{form.split()[-1].strip('.')}",
            "word",
            {"ref/low/b.c": f"/* It {form} */\n"},
            "ref/low/b.c:",
            "banned word; write:",
        )
    same = {"ref/low/b.c": "/* x is None, retold; heeding */\n"}
    expect("other_words_pass", lint(tree(same), "text", "--only", "word"), 0)
    names = {"ref/low/near.c": "\n", "ref/card/a.py": "def let_rest():\n    pass\n"}
    planted(
        "banned_names_of_files_folders_and_functions_fail",
        "name",
        names,
        "file 'near.c'",
        "folder 'card'",
        "function 'let_rest'",
        "use: drain",
    )


def length_rules():
    planted(
        "a_line_of_101_columns_fails",
        "columns",
        {"tests/a.py": f"# {'é' * 98}\n# {'é' * 99}\n"},
        "tests/a.py:2: columns: 101 columns",
        "1 errors",
    )
    long = {
        "ref/low/b.c": "static int f(void)\n{\n" + "  ;\n" * 68 + "}\n",
        "ref/low/c.c": "static int f(void)\n{\n" + "  ;\n" * 67 + "}\n",
        "tests/b.py": "def g():\n" + "    pass\n" * 70,
        "tests/b.sh": "h() {\n" + "  :\n" * 69 + "}\n",
    }
    planted(
        "a_function_of_71_lines_fails_in_each_language",
        "function-length",
        long,
        "f has 71 lines",
        "g has 71 lines",
        "h has 71 lines",
        "3 errors",
    )
    files = {"ref/low/b.c": "\n" * 601, "ref/low/c.c": "\n" * 600}
    planted("a_file_of_601_lines_fails", "file-length", files, "601 lines", "1 errors")


def tool_rules():
    body = CLEAN["ref/low/add.c"]
    planted(
        "c_code_that_is_not_formatted_fails",
        "clang-format",
        {"ref/low/add.c": body.replace("a + b", "a+b")},
        "ref/low/add.c:5: clang-format:",
    )
    planted(
        "a_warning_of_shellcheck_fails",
        "shellcheck",
        {"tests/b.sh": "unused=1\n"},
        "tests/b.sh:1: shellcheck:",
    )
    planted(
        "a_warning_of_ruff_fails",
        "ruff",
        {"tests/b.py": "import os\n"},
        "tests/b.py:1: ruff:",
        "`os` imported but unused",
    )
    planted(
        "python_that_is_not_formatted_fails",
        "ruff-format",
        {"tests/b.py": "print( 1 )\n"},
        "tests/b.py: ruff-format:",
    )


def missing_tools():
    """A rule that cannot be checked is an error, but not before a commit."""
    for mode, code in (("text", 3), ("hook", 0)):
        command = [sys.executable, "-B", os.path.join(HERE, "lint.py"), mode, "--root", tree({})]
        options = ["--only", "shellcheck"]
        where = {**os.environ, "PATH": "/nonexistent"}
        result = subprocess.run(
            [*command, *options], capture_output=True, text=True, check=False, env=where
        )
        said = "shellcheck: not checked: no shellcheck"
        expect(f"a_missing_tool_ends_{mode}_with_{code}", result, code, said)


def layer_rules():
    up = {"ref/low/b.c": '#include "../high/twice.h"\n', "ref/high/twice.h": "\n"}
    planted(
        "a_lower_folder_that_includes_a_higher_one_fails",
        "layer",
        up,
        "ref/low/b.c:1: layer: ref/low may not include ref/high/twice.h",
    )
    planted(
        "a_folder_without_a_layer_fails",
        "layer",
        {"cuda/b.c": "\n"},
        "cuda/b.c: layer: no line",
    )
    planted(
        "a_layer_that_does_not_exist_fails",
        "layer",
        {"tests/lint/layers.txt": LAYERS + "ref/gone: ref/nowhere\n"},
        "ref/gone does not exist",
        "ref/nowhere does not exist",
    )
    both = "ref/low: ref/middle\nref/middle: ref/high\nref/high: ref/low\ntests: *\n"
    planted(
        "layers_that_may_include_each_other_fail",
        "layer",
        {"tests/lint/layers.txt": both, "ref/middle/b.c": "\n"},
        "layers.txt:1: layer: ref/low and ref/middle may include each other",
        "3 errors",
    )
    single = {
        "tests/lint/layers.txt": "ref/low:\nref/high: ref/low/add.h\ntests: *\n",
        "ref/low/other.h": "\n",
        "ref/high/b.c": '#include "../low/other.h"\n',
    }
    planted("a_single_header_lends_no_other", "layer", single, "ref/high/b.c:1:", "1 errors")


def include_rules():
    inside = {
        "ref/low/add_internal.h": "\n",
        "ref/low/part/b.c": '#include "../add_internal.h"\n',
        "ref/high/b.c": '#include "../low/add_internal.h"\n',
        "proofs/lemmas/b.c": '#include "../../ref/low/add_internal.h"\n',
        "proofs/enumerate/b.c": '#include "../../ref/low/add_internal.h"\n',
    }
    planted(
        "another_folders_internal_header_fails_except_in_lemmas_and_theorems",
        "internal",
        inside,
        "ref/high/b.c:1: internal:",
        "proofs/enumerate/b.c:1: internal:",
        "2 errors",
    )


def header_rules():
    planted(
        "a_header_that_does_not_compile_alone_fails",
        "header",
        {"ref/low/b.h": "uint8_t zp_b(void);\n"},
        "ref/low/b.h: header: does not compile alone",
        "uint8_t",
    )
    device = {"ref/low/b.h": "__global__ void k();\n", "ref/low/b.cu": '#include "b.h"\n'}
    expect(
        "a_header_for_nvcc_alone_is_reported_as_not_checked",
        lint(tree(device), "text", "--only", "header"),
        0,
        "not checked: ref/low/b.h is a header for nvcc alone",
    )
    template = {
        "ref/low/b.inc": '#include "../high/twice.h"\nTYPE zp_b(void);\n',
        "ref/high/twice.h": "\n",
    }
    planted(
        "a_template_has_a_layer",
        "layer",
        template,
        "ref/low/b.inc:1: layer: ref/low may not include ref/high/twice.h",
    )
    expect(
        "a_template_is_not_compiled_alone",
        lint(tree(template), "text", "--only", "header"),
        0,
    )


def callback_rules():
    pointer = "typedef struct zp_table {\n  int (*call)(int);\n} zp_table;\n"
    planted(
        "a_table_of_functions_without_a_review_fails",
        "callback",
        {"ref/low/b.h": pointer},
        "ref/low/b.h:2: callback: zp_table passes functions",
    )
    listed = {"ref/low/b.h": pointer, "tests/lint/callbacks.txt": "zp_table a reason\n"}
    expect("a_reviewed_table_passes", lint(tree(listed), "text", "--only", "callback"), 0)
    planted(
        "a_reviewed_table_that_is_gone_fails",
        "callback",
        {"tests/lint/callbacks.txt": "zp_table a reason\n"},
        "remove this line: zp_table passes no function",
    )


def download_rules():
    """Everything that is installed has a hash; pip without an index installs what is here."""
    calls = {
        "tests/b.sh": "echo 1\n\npip install ruff\n",
        "tests/c.py": '"""C."""\n\nCALL = ["python3", "-m", "pip", "download",\n    "x"]\n',
        "tests/d.sh": 'python3 -m pip --quiet \\\n  install "x==1"\nuv pip install x\n',
        "Makefile": "all:\n\tcurl -O https://example.org/x\n",
        "tests/e.sh": "pip install --no-index x\n# pip install x\necho install python3-pip\n",
    }
    at = [f"{where}: download: " for where in ("tests/b.sh:3", "tests/c.py:3", "tests/d.sh:1")]
    planted("a_call_of_pip_elsewhere_fails", "download", calls, *at, "Makefile:2:", "5 errors")
    one, two = (f" \\\n    --hash=sha256:{digit * 64}" for digit in "1a")
    good = f"# made\na.b-c==1.0+cpu{one}{two}\nd==2{two}\n"
    locks = "conformance/locks/"
    expect(
        "a_lock_with_a_hash_for_each_line_passes",
        lint(tree({locks + "a.txt": good}), "text", "--only", "lock"),
        0,
    )
    for number, line in enumerate(
        ("e==3", "e==3 --hash=md5:0", f"e>=3{one}", f"e==3{one[:-1]}", "--extra-index-url x")
    ):
        planted(
            f"a_line_of_a_lock_without_a_hash_fails_{number}",
            "lock",
            {locks + "a.txt": good + line + "\n"},
            "a.txt:7: lock: expected NAME==VERSION with hashes",
        )


def process_rules():
    fork = "int zp_b(void)\n{\n  return fork();\n}\n"
    said = "ref/low/b.c:3: process: fork() starts a process"
    planted("a_process_that_may_outlive_its_parent_fails", "process", {"ref/low/b.c": fork}, said)
    files = {"ref/base/child.c": fork, "ref/low/b.c": "/* popen() */\n", "tests/b.c": fork}
    expect("the_place_of_processes_passes", lint(tree(files), "text", "--only", "process"), 0)


def cursor_rules():
    header = "typedef struct zp_cursor {\n  long pc; /* next */\n  char *issued;\n} zp_cursor;\n"
    place = {"ref/engine/cursor.h": header}
    place["ref/engine/cursor.c"] = "void zp_b(zp_cursor *c)\n{\n  c->pc++;\n}\n"
    for name, line, what in (
        ("a_field_that_another_file_assigns", "r->cursor.pc = 1;", "a field"),
        ("a_field_that_another_file_increments", "c->pc++;", "a field"),
        ("a_field_that_another_file_adds_to", "r->host.cursor.pc += 2;", "a field"),
        ("an_element_that_another_file_assigns", "c->issued[p + 1] = 1;", "a field"),
        ("a_field_whose_address_another_file_takes", "long *at = &r->cursor.pc;", "a field"),
        ("a_cursor_that_another_file_assigns", "r->cursor = *c;", "a whole"),
        ("a_cursor_that_another_file_clears", "memset(&r->cursor, 0, 9);", "the memory"),
    ):
        files = {**place, "ref/low/b.c": f"void zp_d(zp_cursor *c)\n{{\n  {line}\n}}\n"}
        planted(f"{name}_fails", "cursor", files, f"ref/low/b.c:3: cursor: writes {what}")
    reads = "int zp_e(zp_cursor *c)\n{\n  /* c->pc = 1 */\n  const zp_cursor *d = &r->cursor;\n"
    reads += "  return c->pc == 1 && c->pc <= d->pc;\n}\n"
    files = {**place, "ref/low/b.c": reads}
    expect("files_that_read_a_cursor_pass", lint(tree(files), "text", "--only", "cursor"), 0)


def compiled(files):
    """A tree with its objects in build/."""
    root = tree(files)
    for folder, _, names in os.walk(os.path.join(root, "ref")):
        for name in (n for n in names if n.endswith(".c")):
            source = os.path.relpath(os.path.join(folder, name), root)
            made = os.path.join(root, "build", source[:-2] + ".o")
            os.makedirs(os.path.dirname(made), exist_ok=True)
            command = ["gcc", "-std=c11", "-O2", "-fPIC", "-c", source, "-o", made]
            subprocess.run(command, cwd=root, check=True)
    return root


def symbols(name, rule, files, code, *texts, installed=""):
    root = compiled(files)
    build = os.path.join(root, "build")
    options = ["--only", rule, "--build", build, "--installed", installed]
    expect(name, lint(root, "symbols", *options), code, *texts)


def symbol_rules():
    call = {
        "ref/low/a.c": "int zp_b(void);\nint zp_a(void)\n{\n  return zp_b();\n}\n",
        "ref/low/b.c": "int zp_a(void);\nint zp_b(void)\n{\n  return zp_a();\n}\n",
    }
    said = "ref/low/a.c: cycle: is in a cycle of calls in ref/low: a.c uses zp_b of b.c"
    symbols("a_cycle_of_calls_fails", "cycle", call, 1, said, "2 errors")
    taken = dict(call)
    taken["ref/low/b.c"] = (
        "int zp_a(void);\nint (*zp_now)(void) = zp_a;\nint zp_b(void)\n{\n  return zp_now();\n}\n"
    )
    symbols("an_address_in_a_cycle_fails", "cycle", taken, 1, said)
    table = {
        "ref/low/a.c": "extern int (*const zp_table[1])(void);\n"
        "int zp_a(void)\n{\n  return zp_table[0]();\n}\n",
        "ref/low/b.c": "int zp_a(void);\nstatic int b(void)\n{\n  return zp_a();\n}\n"
        "int (*const zp_table[1])(void) = {b};\n",
    }
    symbols("a_table_in_a_cycle_fails", "cycle", table, 1, "a.c uses zp_table of b.c")
    symbols("calls_of_one_direction_pass", "cycle", {}, 0, "0 errors")
    folders = {"ref/low/a.c": call["ref/low/a.c"], "ref/high/b.c": call["ref/low/b.c"]}
    said = "ref/low: cycle: is in a cycle of calls: ref/low/a.c uses zp_b of ref/high/b.c"
    symbols("a_cycle_of_folders_fails", "cycle", folders, 1, said, "2 errors")
    unused = {"ref/low/b.c": "int zp_lonely(void)\n{\n  return 1;\n}\n"}
    said = "ref/low/b.c: unused: no other file uses the external name zp_lonely"
    symbols("an_external_function_without_a_caller_fails", "unused", unused, 1, said, "1 errors")
    variable = {"ref/low/b.c": "int zp_lonely;\n"}
    symbols("an_external_variable_without_a_user_fails", "unused", variable, 1, said, "1 errors")
    unused["ref/low/b.h"] = "int zp_lonely(void);\n"
    symbols("one_of_an_installed_header_passes", "unused", unused, 0, installed="ref/low/b.h")
    symbols(
        "a_pattern_of_an_api_that_matches_nothing_fails",
        "unused",
        {"tests/lint/apis.txt": "cuda\\w+ an API\n"},
        1,
        "no unused name matches cuda",
    )
    root = compiled({})
    os.remove(os.path.join(root, "build/ref/low/add.o"))
    result = lint(root, "symbols", "--build", os.path.join(root, "build"))
    expect("a_source_without_an_object_fails", result, 1, "not built", "ref/low/add.c")


def pre_commit_hook():
    root = tree({})
    for name in (n for n in os.listdir(HERE) if n.endswith(".py")):
        with open(os.path.join(HERE, name), encoding="utf-8") as f:
            write(root, {"tests/lint/" + name: f.read()})
    hooks = ["-c", f"core.hooksPath={HERE}/hooks"]
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    git = ["git", "-C", root, *hooks, *identity]

    def commit():
        subprocess.run([*git, "add", "-A"], check=True)
        command = [*git, "commit", "-qm", "Change"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    subprocess.run(["git", "-C", root, "init", "-q"], check=True)
    expect("the_hook_passes_a_clean_commit", commit(), 0)
    write(root, {"ref/low/b.c": "/* nobody */\n"})
    expect("the_hook_refuses_a_commit_with_a_banned_word", commit(), 1, "ref/low/b.c:1: word:")


def frozen_words():
    files = {
        "ref/low/b.c": "/* is_told */\n",
        "tests/lint/frozen.txt": "is_told a key of the format\n",
    }
    expect("a_frozen_identifier_passes", lint(tree(files), "text", "--only", "word"), 0)
    files["ref/low/b.c"] = "\n"
    planted("a_frozen_identifier_that_is_gone_fails", "word", files, "remove this line")
    review = lint(tree({"ref/low/b.c": "/* behind, who */\n"}), "review")
    expect("words_for_review_are_listed_and_pass", review, 0, "b.c:1: behind", "b.c:1: who")


with tempfile.TemporaryDirectory() as TEMPORARY:
    os.environ["ZP_CACHE"] = os.path.join(TEMPORARY, "cache")
    expect("a_clean_tree_has_no_error", lint(tree({}), "text"), 0, "0 errors")
    clause_rule()
    link_rule()
    word_rules()
    length_rules()
    tool_rules()
    missing_tools()
    layer_rules()
    include_rules()
    header_rules()
    callback_rules()
    download_rules()
    process_rules()
    cursor_rules()
    symbol_rules()
    frozen_words()
    pre_commit_hook()
sys.exit(1 if FAILED else 0)
