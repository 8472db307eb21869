"""Which failures the entries of a list of known failures (known.py) explain."""

from outcomes import DEFECT
from recipe import features


def alike(entry, finding):
    """True if a finding has the entry's clause and kind (or one of "also"), and one of its symptoms
    if it lists any."""
    words = set(finding.detail.get("symptom", []))
    return finding.signature().startswith(
        (f"{entry['clause']} {entry['kind']}", *(entry.get("also") or []))
    ) and (
        not entry.get("symptom") or any(set(one.split(" + ")) <= words for one in entry["symptom"])
    )


def covers(entry, finding, recipe):
    """True if a finding looks like the entry, and its case meets the entry's conditions."""
    if not alike(entry, finding):
        return False
    present = features(recipe)
    return set(entry["needs"]) <= present and not set(entry.get("lacks") or []) & present


def explains(entry, out):
    """True if the entry covers the finding that gives a failing case its cause, the first one."""
    return covers(entry, out.findings[0], out.recipe)


def put_excused_last(out, entries):
    """Orders the findings of a case: those come last that entries cover, all of another class than
    defect. So such an entry explains a case only if every finding of the case is covered, and hides
    no other failure. What follows from a defect has no other cause, so a defect's entry explains
    its case whatever comes after its finding."""

    def excused(finding):
        classes = {entry["class"] for entry in entries if covers(entry, finding, out.recipe)}
        return bool(classes) and DEFECT not in classes

    if len(out.findings) > 1:
        out.findings.sort(key=excused)
