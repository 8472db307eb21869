"""Tests of the runner in small trees: which verdicts are stored and reused, which files a test may
read, which differences are reported, and the order of items. Prints ok / not ok lines."""

import glob
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)

import inputs  # noqa: E402

failed = 0


def check(name, good, why=""):
    global failed
    failed += not good
    print(
        f"{'ok' if good else 'not ok'} {name}{'' if good else ': ' + str(why)[-600:]}", flush=True
    )


class Tree:
    """A repository with a build and a few scripts; stored verdicts are below it."""

    def __init__(self, folder, cache=None):
        self.folder = folder
        self.cache = cache or os.path.join(folder, "cache")
        shutil.copytree(
            HERE,
            os.path.join(folder, "tests", "runner"),
            ignore=shutil.ignore_patterns("test_*", "__pycache__"),
        )
        self.write("build/zeroproof", "#!/bin/sh\n", executable=True)
        self.write("build/identity", '-DZP_COMMIT="abc"\n')
        self.write("conformance/subjects.txt", "")

    def write(self, name, text, executable=False):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        if executable:
            os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return path

    def run(self, *words, **more):
        """(exit code, what it prints)."""
        done = subprocess.run(
            [sys.executable, "-B", "tests/runner/run.py", *words],
            cwd=self.folder,
            text=True,
            capture_output=True,
            check=False,
            env={
                "PATH": os.environ["PATH"],
                "HOME": self.folder,
                "ZP_CACHE": self.cache,
                "JOBS": "2",
                "REPEAT_SECONDS": "0",
                **more,
            },
        )
        return done.returncode, done.stdout + done.stderr

    def stored(self):
        return glob.glob(os.path.join(self.cache, "verdicts", "*", "*.json"))


def last(text):
    return text.strip().splitlines()[-1]


def reuse(folder):
    tree = Tree(folder)
    script = "# inputs: tests/a/data\ncat tests/a/data >/dev/null && echo ok %s\n"
    tree.write("tests/a/test_one.sh", script % "reads_its_data")
    tree.write("tests/a/data", "1\n")
    code, text = tree.run("a/test_one")
    check(
        "a_test_that_passes_is_stored",
        code == 0 and len(tree.stored()) == 1 and last(text) == "1 passed, 0 failed",
        text,
    )
    code, text = tree.run("a/test_one")
    check(
        "and_reused",
        code == 0 and "1 verdicts were reused" in text and last(text) == "1 passed, 0 failed",
        text,
    )
    tree.write("tests/a/data", "2\n")
    code, text = tree.run("a/test_one")
    check(
        "a_changed_input_is_a_new_verdict",
        code == 0 and "reused" not in text and len(tree.stored()) == 2,
        text,
    )
    tree.write("tests/a/test_one.sh", script % "other")
    code, text = tree.run("a/test_one")
    check(
        "so_is_a_changed_script",
        code == 0 and "reused" not in text and len(tree.stored()) == 3,
        text,
    )
    code, text = tree.run("a/test_one", CFLAGS="-O0")
    check(
        "so_is_another_environment",
        code == 0 and "reused" not in text and len(tree.stored()) == 4,
        text,
    )
    other = Tree(os.path.join(folder, "elsewhere"), tree.cache)
    other.write("tests/a/test_one.sh", script % "other")
    other.write("tests/a/data", "2\n")
    code, text = other.run("a/test_one")
    check(
        "another_folder_with_the_same_inputs_reuses_it",
        code == 0 and "1 verdicts were reused" in text,
        text,
    )


def not_stored(folder):
    tree = Tree(folder)
    tree.write("tests/a/test_bad.sh", "# inputs: none\necho ok one\necho not ok two\n")
    tree.write("tests/a/test_open.sh", "echo ok one\n")
    code, text = tree.run("a/test_bad")
    check(
        "a_failure_is_reported",
        code == 1 and "not ok two" in text and last(text) == "1 passed, 1 failed",
        text,
    )
    check("and_never_stored", not tree.stored(), tree.stored())
    code, text = tree.run("a/test_open")
    check("what_declares_nothing_is_never_stored", code == 0 and not tree.stored(), text)
    tree.write("tests/a/test_dies.sh", "# inputs: none\necho ok one\nkill -9 $$\n")
    code, text = tree.run("a/test_dies")
    check(
        "a_script_that_is_killed_fails",
        code == 1 and last(text) == "1 passed, 1 failed" and not tree.stored(),
        text,
    )
    for name in ("$(mktemp -u)", "of_$(mktemp -u | tr -c '[:alnum:]\\n' _)"):
        tree.write("tests/a/test_temp.sh", f'# inputs: none\nprintf "ok %s" "{name}"\n')
        code, text = tree.run("a/test_temp")
        check(
            f"a_check_named_{name.split('$')[0]}after_a_temporary_folder_fails",
            code == 1 and "temporary folder" in text and not tree.stored(),
            text,
        )
    tree.write("tests/a/test_none.c", "/* inputs: none */\n")
    code, text = tree.run("a/test_none")
    check(
        "a_program_that_was_not_built_fails", code == 1 and last(text) == "0 passed, 1 failed", text
    )
    code, text = tree.run("no/such")
    check("a_word_that_no_name_has_is_refused", code == 2 and "no test has a name" in text, text)


def copies(folder):
    tree = Tree(folder)
    tree.write("tests/a/data", "1\n")
    tree.write("secret", "1\n")
    tree.write("tests/a/test_reads.sh", "# inputs: tests/a/data\ncat secret && echo ok reads\n")
    code, text = tree.run("a/test_reads")
    check("a_script_that_reads_an_undeclared_file_fails", code == 1 and not tree.stored(), text)
    script = "# inputs: tests/a/data secret\ncat secret && echo ok reads\n"
    tree.write("tests/a/test_reads.sh", script)
    check("one_that_declares_it_passes", tree.run("a/test_reads")[0] == 0)
    script = "# inputs: tests/a/data\necho 2 >tests/a/data && echo ok writes\n"
    tree.write("tests/a/test_writes.sh", script)
    code, text = tree.run("a/test_writes")
    with open(os.path.join(folder, "tests/a/data"), encoding="utf-8") as file:
        check("no_script_changes_the_tree", code == 0 and file.read() == "1\n", text)
    tree.write("tests/a/test_typo.sh", "# inputs: tests/a/dada\necho ok one\n")
    code, text = tree.run("a/test_typo")
    check(
        "an_input_that_is_not_there_is_an_error",
        code == 1 and "tests/a/dada, which is not there" in text,
        text,
    )
    tree.write("build/tool", "#!/bin/sh\necho ok tool\n", executable=True)
    tree.write("tests/a/test_built.sh", '# inputs: build/tool\n"$ZP_BUILD/tool"\n')
    shutil.move(os.path.join(folder, "build"), os.path.join(folder, "build-san"))
    code, text = tree.run("a/test_built", ZP_BUILD="build-san")
    check("the_build_s_folder_has_any_name", code == 0 and last(text) == "1 passed, 0 failed", text)


def tampered(folder):
    tree = Tree(folder)
    tree.write("tests/a/test_one.sh", "# inputs: none\necho ok one\n")
    tree.run("a/test_one")
    (path,) = tree.stored()
    with open(path, encoding="utf-8") as file:
        verdict = json.load(file)

    def write(**changed):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**verdict, **changed}, file)

    code, text = tree.run("a/test_one", ZP_VERDICTS="compare")
    check("evidence_agrees_with_a_right_verdict", code == 0 and "differs" not in text, text)
    write(result={**verdict["result"], "passed": 2})
    code, text = tree.run("a/test_one", ZP_VERDICTS="compare")
    check(
        "evidence_reports_a_tampered_verdict",
        code == 1
        and "the stored verdict of script a/test_one" in text
        and last(text) == "1 passed, 1 failed",
        text,
    )
    code, text = tree.run("a/test_one", REPEAT_SECONDS="5")
    check("a_repetition_reports_it_too", code == 1 and "differs" in text, text)
    write(inputs={})
    code, text = tree.run("a/test_one")
    check(
        "a_verdict_of_other_inputs_is_damaged_and_computed_again",
        code == 0 and "is damaged" in text and "reused" not in text,
        text,
    )
    with open(path, "w", encoding="utf-8") as file:
        file.write("{")
    code, text = tree.run("a/test_one")
    check("a_file_that_is_no_json_is_too", code == 0 and "is damaged" in text, text)
    code, text = tree.run("a/test_one")
    check("and_stored_again", code == 0 and "1 verdicts were reused" in text, text)
    # what passed and now fails: its inputs do not say what it depends on
    path = os.path.join(folder, "outside")
    tree.write("outside", "")
    tree.write("tests/a/test_two.sh", f"# inputs: none\n[ -e {path} ] && echo ok two\n")
    tree.run("a/test_two")
    os.remove(path)
    check("a_stored_verdict_hides_what_is_not_declared", tree.run("a/test_two")[0] == 0)
    code, text = tree.run("a/test_two", REPEAT_SECONDS="5")
    check("a_repetition_reports_what_fails_now", code == 1 and "differs" in text, text)
    code, text = tree.run("a/test_two", ZP_VERDICTS="compare")
    check("so_does_evidence", code == 1 and "differs" in text, text)
    end = text[text.find("Failed or not run:") :]
    check("the_end_has_what_failed", "a/test_two" in end and "FAILED" in end, text)
    check(
        "a_word_that_is_no_mode_is_refused", tree.run("a/test_two", ZP_VERDICTS="perhaps")[0] == 1
    )
    tree.write("tests/a/test_three.sh", "# inputs: none\necho ok three\n")
    before = len(tree.stored())
    tree.run("a/test_three", ZP_VERDICTS="none")
    check("without_a_store_nothing_is_stored", len(tree.stored()) == before)


def alone(folder):
    tree = Tree(folder)
    log = os.path.join(folder, "log")
    for name in "abc":
        script = f"echo +{name} >>{log}\nsleep 0.2\necho -{name} >>{log}\necho ok {name}\n"
        declared = "# inputs: none\n# alone: it is sensitive\n"
        tree.write(f"tests/a/test_{name}.sh", declared + script)
    for name in "de":
        script = f"# inputs: none\nsleep 0.3\necho {name} >>{log}\necho ok {name}\n"
        tree.write(f"tests/a/test_{name}.sh", script)
    code, text = tree.run()
    with open(log, encoding="utf-8") as file:
        lines = file.read().split()
    check(
        "who_runs_alone_runs_after_the_others_one_by_one",
        set(lines[:2]) == {"d", "e"} and all(lines[i][1:] == lines[i + 1][1:] for i in (2, 4, 6)),
        (lines, code, text),
    )


def programs(folder):
    """ELF files: the hash of a program depends on everything but the commit it was built from."""
    source = os.path.join(ROOT, "ref", "engine", "build_info.c")
    main = os.path.join(folder, "main.c")
    with open(main, "w", encoding="utf-8") as file:
        file.write(
            f'#include <stdio.h>\n#include "{ROOT}/ref/engine/build_info.h"\n'
            "int main(void) { return puts(zp_build().commit) < 0 || ANSWER; }\n"
        )

    def build(where, commit, answer):
        path = os.path.join(folder, where)
        os.makedirs(path)
        program, archive, objects = f"{path}/program", f"{path}/l.a", []
        compile_c = ["gcc", "-O2", f"-ffile-prefix-map={folder}=.", "-c"]
        compile_c += [f'-DZP_COMMIT="{commit}"', f"-DANSWER={answer}"]
        for name in (main, source):
            objects.append(f"{path}/{os.path.basename(name)}.o")
            subprocess.run([*compile_c, name, "-o", objects[-1]], check=True)
        subprocess.run(["ar", "rcsD", archive, *objects], check=True)
        subprocess.run(["gcc", *objects, "-o", program], check=True)
        printed = subprocess.run([program], capture_output=True, text=True, check=False).stdout
        return inputs.file_hash(program), inputs.file_hash(archive), printed.strip()

    one, other = build("one", "abc", 0), build("a/longer/name", "abcdef-dirty", 0)
    check("programs_say_their_commits", (one[2], other[2]) == ("abc", "abcdef-dirty"), (one, other))
    check("programs_of_two_commits_and_folders_have_one_hash", one[0] == other[0])
    check("so_have_archives", one[1] == other[1])
    check("programs_of_other_sources_do_not", build("two", "abc", 1)[0] != one[0])


def runs(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


def ended(folder):
    """Items, and what they started, end with the runner, by whichever signal it ends. The time
    limits are for items that do not end."""
    tree = Tree(folder)
    script = "sleep 1000 &\necho $$ $! >pids.new\nmv pids.new pids\nwait\n"
    tree.write("tests/a/test_long.sh", script)
    pids = os.path.join(folder, "pids")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
        runner = subprocess.Popen(
            [sys.executable, "-B", "tests/runner/run.py", "test_long"],
            cwd=tree.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "ZP_CACHE": tree.cache, "ZP_BUILD": "build"},
            start_new_session=True,
        )
        while not os.path.exists(pids) and runner.poll() is None:
            time.sleep(0.05)
        with open(pids, encoding="ascii") as file:
            started = [int(word) for word in file.read().split()]
        os.remove(pids)
        runner.send_signal(number)
        code = runner.wait(300)
        end = time.monotonic() + 300
        while any(map(runs, started)) and time.monotonic() < end:
            time.sleep(0.05)
        left = [pid for pid in started if runs(pid)]
        check(f"items_end_with_the_runner_by_{number.name}", not left and code != 0, (left, code))
        for pid in left:
            os.kill(pid, signal.SIGKILL)


def main():
    for test in (reuse, not_stored, copies, tampered, alone, programs, ended):
        with tempfile.TemporaryDirectory() as folder:
            test(folder)
    return 1 if failed else 0


sys.exit(main())
