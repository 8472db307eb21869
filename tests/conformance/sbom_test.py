"""Checks a bill of materials against the lock files and DEPENDENCIES.md: sbom_test.py FILE"""

import glob
import json
import re
import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

with open(sys.argv[1], encoding="utf-8") as file:
    TEXT = file.read()
BOM = json.loads(TEXT)
PARTS = {(c["name"], c["version"]): c for c in BOM["components"]}
NAMES = {name for name, _ in PARTS}
failed = 0


def check(name, why):
    """why: what is wrong, or a false value."""
    global failed
    failed += bool(why)
    print(f"not ok {name}: {str(why)[:500]}" if why else f"ok {name}")


def hashes(part):
    return {h["content"] for r in part["externalReferences"] for h in r["hashes"]}


def locked():
    """(name, version, hashes) of each lock file, read without the tool's parser."""
    for path in glob.glob("conformance/locks/*.txt"):
        with open(path, encoding="utf-8") as lock:
            for entry in re.split(r"\n(?=[a-z])", lock.read()):
                if not entry.startswith("#"):
                    name, version = entry.split(" ")[0].split("==")
                    yield name, version, set(re.findall(r"sha256:([0-9a-f]{64})", entry))


def valid(text):
    return JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)


packages = list(locked())
main = BOM["metadata"]["component"]
required = {c["name"]: c for c in BOM["components"] if c["scope"] == "required"}
links = [d["dependsOn"] for d in BOM["dependencies"] if d["ref"] == main["bom-ref"]]

check("it_is_valid_cyclonedx", valid(TEXT))
# without the components, whose addresses take the validator seconds
short = json.dumps({**BOM, "components": [], "dependencies": []})
check(
    "the_validator_refuses_another_key",
    valid(short) or valid(short.replace('"bomFormat"', '"bomform"')) is None and "accepted",
)
check(
    "each_locked_package_is_there_with_its_hashes",
    [p for p in packages if p[:2] not in PARTS or hashes(PARTS[p[:2]]) != p[2] or not p[2]]
    or (len(packages) < 60 and f"only {len(packages)} packages in the locks"),
)
check(
    "the_linked_libraries_are_required",
    {"libjansson4", "libxxhash0", "libopenmpi3", "libc6", "zeroproof-trace"} - set(required),
)
check(
    "the_release_depends_on_what_is_required",
    links != [sorted(c["bom-ref"] for c in required.values())] and links,
)
check(
    "versions_are_those_of_this_machine_or_of_the_documentation",
    required["libjansson4"]["version"] != "9.9-1" and required["libjansson4"],
)
check(
    "compilers_and_provers_are_listed",
    {"gcc", "make", "frama-c-base", "why3", "z3", "cvc4", "cvc5", "coq", "spin"} - NAMES,
)
check(
    "every_part_has_a_licence_or_a_hash",
    [k for k, c in PARTS.items() if not c.get("licenses") and not hashes(c)],
)
check("the_version_is_that_of_the_release", main["version"] != "1.2.3" and main)
sys.exit(failed > 0)
