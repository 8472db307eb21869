"""Writes the software bill of materials of a release: CycloneDX 1.6, JSON.

sbom.py VERSION PACKAGES OUT

It lists zeroproof VERSION, the wheel of the recorder, the Debian packages of
proofs/DEPENDENCIES.md, and the Python packages of the lock files, with their hashes. PACKAGES has
the versions of Debian packages on this machine (`make packages`); others have the version of
DEPENDENCIES.md. `required` is what a release links or starts, `excluded` what only building, tests
and proofs use. The same inputs give the same bytes; SOURCE_DATE_EPOCH, if set, is the time stamp.
Runs in the environment `cyclonedx` (venv.sh). Exit codes: 0; 1 the result is not valid."""

import datetime
import glob
import json
import os
import re
import subprocess
import sys
import tomllib

from cyclonedx.model import ExternalReference, ExternalReferenceType, Property, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

LOCKS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(LOCKS))
TORCH = "https://download.pytorch.org/whl/cpu/torch/"


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def own(name, version, kind):
    return Component(
        name=name,
        version=version,
        type=kind,
        bom_ref=name,
        purl=PackageURL("generic", None, name, version),
        scope=ComponentScope.REQUIRED,
        licenses=[DisjunctiveLicense(id="Apache-2.0")],
    )


def debian(installed):
    """The packages of the tables of DEPENDENCIES.md."""
    for section in read(ROOT, "proofs/DEPENDENCIES.md").split("\n## ")[1:]:
        title = section.split("\n")[0]
        for row in re.findall(r"^\| ([a-z][^|]*) \| (\d[^|]*) \|.*\| ([^|]*) \|$", section, re.M):
            for name in row[0].split(", "):
                version = installed.get(name, row[1].split(" ")[0])
                purl = PackageURL("deb", "debian", name, version)
                yield Component(
                    name=name,
                    version=version,
                    type=ComponentType.LIBRARY if "lib" in name else ComponentType.APPLICATION,
                    bom_ref=str(purl),
                    purl=purl,
                    scope=ComponentScope.REQUIRED
                    if title == "In the product"
                    else ComponentScope.EXCLUDED,
                    licenses=[DisjunctiveLicense(name=row[2])],
                    properties=[Property(name="zeroproof:for", value=title)],
                )


def python():
    """The packages of the lock files, as cyclonedx-py reads them, each version once."""
    files = sorted(glob.glob(os.path.join(LOCKS, "*.txt")))
    texts = {os.path.basename(f).removesuffix(".txt"): read(f) for f in files}
    command = [os.path.join(os.path.dirname(sys.executable), "cyclonedx-py"), "requirements", "-"]
    made = subprocess.run(
        command, input="".join(texts.values()), text=True, stdout=subprocess.PIPE, check=True
    )
    found = {}
    for component in Bom.from_json(json.loads(made.stdout)).components:
        same = found.setdefault((component.name, component.version), component)
        for reference in component.external_references:
            for kept in same.external_references:
                kept.hashes.update(reference.hashes)
    for (name, version), component in found.items():
        component.bom_ref.value = str(component.purl)
        component.scope = ComponentScope.EXCLUDED
        component.description = None  # the line of the lock file
        for lock, text in texts.items():
            if f"\n{name}=={version} " in text:
                component.properties.add(Property(name="zeroproof:lock", value=lock))
        if version.endswith("+cpu"):  # not on PyPI
            (pypi,) = component.external_references
            component.external_references = [
                ExternalReference(
                    type=ExternalReferenceType.DISTRIBUTION, url=XsUri(TORCH), hashes=pypi.hashes
                )
            ]
        yield component


def main(version, packages, out):
    bom = Bom()
    installed = dict(line.split(" ")[:2] for line in read(packages).splitlines())
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    bom.serial_number = None  # random
    bom.metadata.timestamp = epoch and datetime.datetime.fromtimestamp(int(epoch), datetime.UTC)
    bom.metadata.component = own("zeroproof", version, ComponentType.APPLICATION)
    project = tomllib.loads(read(ROOT, "conformance/recorder/pyproject.toml"))["project"]
    bom.components.add(own(project["name"], project["version"], ComponentType.LIBRARY))
    bom.components.update([*debian(installed), *python()])
    required = [c for c in bom.components if c.scope == ComponentScope.REQUIRED]
    bom.register_dependency(bom.metadata.component, required)
    text = JsonV1Dot6(bom).output_as_string(indent=1) + "\n"
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if error:
        print(f"sbom.py: the result is not valid CycloneDX: {error}", file=sys.stderr)
        return 1
    with open(out + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(out + ".new", out)
    print(f"{out}: {len(bom.components)} components")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
