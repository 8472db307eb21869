"""Reports of `zeroproof trace check --format junit` against tests/fixtures/junit.xsd.
junit_test.py ZEROPROOF DIR"""

import os
import subprocess
import sys
import xml.etree.ElementTree

import watch_test
import xmlschema
import zeroproof_trace_file
from watch_test import ROOT, record, verdict

SCHEMA = os.path.join(ROOT, "tests", "fixtures", "junit.xsd")


def disagree(folder):
    """Two ranks, of which either may be wrong; their calls are not known."""
    for rank, op in enumerate(("all_reduce", "broadcast")):
        file = zeroproof_trace_file.TraceFile(folder, rank, 2)
        file.operation(op, file.group("two", [0, 1]), count=4)
        file.close()


def of_two_runs(folder):
    """Files of two runs: a finding about no rank in particular."""
    record(folder)
    os.unlink(os.path.join(folder, "rank-1.zpt"))
    zeroproof_trace_file.TraceFile(folder, 1, 4).close()


def fails(folder):
    record(folder, exits=(2, 1, "ValueError"))


# folder -> how it is made, and the exit code
RUNS = {
    b"good": (record, 0),
    b"one skips": (lambda folder: record(folder, skips=1, closes=False), 1),
    b"two causes": (disagree, 1),
    b"a warning": (fails, 0),
    b"two runs": (of_two_runs, 1),
    b"odd \xff \x01 <&>\"' \xc3\xa9": (lambda folder: record(folder, skips=0), 1),
}
# name -> (text in a report of one failure, what replaces it): the schema accepts none of these
BROKEN = {
    "an_unknown_attribute": (' timestamp="', ' stamp="'),
    "another_form_of_time": (' timestamp="', ' timestamp="at '),
    "an_empty_name": ('hostname="localhost"', 'hostname=""'),
    "a_negative_count": ('failures="1"', 'failures="-1"'),
    "a_missing_package": ('package="zeroproof" ', ""),
    "a_missing_class": ('classname="zeroproof.trace" ', ""),
    "a_failure_without_a_type": ("<failure type=", "<failure kind="),
    "a_missing_element": ("    <system-err/>\n", ""),
    "an_unknown_element": ("    <system-err/>", "    <system-log/>"),
    "another_order": ("<properties>", "<system-out/><properties>"),
}


def reports(zeroproof, folder):
    schema, found = xmlschema.XMLSchema(SCHEMA), {}
    for name, (make, code) in RUNS.items():
        at, words = os.path.join(os.fsencode(folder), name), ascii(name)[2:-1].replace(" ", "_")
        make(os.fsdecode(at))
        check = [zeroproof, "trace", "check", "--format", "junit", at]
        ended = subprocess.run(check, stdout=subprocess.PIPE, check=False)
        verdict(ended.returncode == code, f"exit_code_of_{words}", ended)
        found[name] = ended.stdout.decode()
        errors = list(schema.iter_errors(found[name]))
        verdict(not errors, f"a_valid_report_of_{words}", errors)
        suite = xml.etree.ElementTree.fromstring(found[name])[0]
        counts = [len(suite.findall(kind)) for kind in ("testcase", "testcase/failure")]
        good = counts == [int(suite.get("tests")), int(suite.get("failures"))]
        verdict(good, f"the_counts_of_{words}", (suite.attrib, counts))
        verdict((counts[1] > 0) == (code == 1), f"failures_of_{words}", counts)
    return schema, found


def refuses(schema, report):
    for name, (was, broken) in BROKEN.items():
        changed = report.replace(was, broken, 1)
        verdict(changed != report and not schema.is_valid(changed), f"the_schema_refuses_{name}")


def main():
    schema, found = reports(*sys.argv[1:])
    refuses(schema, found[b"one skips"])
    return watch_test.bad


if __name__ == "__main__":
    sys.exit(main())
