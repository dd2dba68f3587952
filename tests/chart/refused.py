"""Checks that contradictory values are refused, with words that say what to do.

Usage: refused.py CHART HELM…. The table is `refused.yaml`. Every Helm must refuse each of its lines, and
accept the values that the line changes: otherwise the reason would be another. Every refusal in a template
must be reached by a line.
"""

import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

TABLE = pathlib.Path(__file__).with_name("refused.yaml")
FAIL = re.compile(r'fail\s+(?:\(printf\s+)?"((?:[^"\\]|\\.)*)"')
# A render uses one core; more at once would wait for each other.
AT_ONCE = 3


def rendered(helm, chart, values, release="archway"):
    """Whether Helm accepts values, given as files, and its error if not."""
    files = [part for value in values for part in ("--values", str(value))]
    command = [helm, "template", release, str(chart), "--namespace", "archway", *files]
    asked = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return asked.returncode == 0, asked.stderr


def answer(helm, chart, change, case):
    """What is wrong with Helm's answer to one line of the table, or `None`."""
    base = chart / "ci" / f"{case.get('base', 'minimal')}-values.yaml"
    taken, said = rendered(helm, chart, [base, change], case.get("release", "archway"))
    said = " ".join(said.split())
    if taken:
        return said, f"{case['why']}: {helm} takes it; it must be refused with {case['says']!r}"
    missing = [word for word in case["says"] if word not in said]
    wrong = f"{case['why']}: {helm} does not say {missing}, but: {said[:600]}" if missing else None
    return said, wrong


def untried(chart, said):
    """Refusals in templates that no answer contains."""
    for template in sorted((chart / "templates").rglob("*")):
        if template.is_dir():
            continue
        for words in FAIL.findall(template.read_text()):
            pattern = ".*".join(re.escape(" ".join(part.split())) for part in words.split("%s"))
            if not any(re.search(pattern, answer) for answer in said):
                yield f"{template.name}: no line of tests/chart/refused.yaml meets: {words}"


def main():
    chart, helms = pathlib.Path(sys.argv[1]), sys.argv[2:]
    cases = yaml.safe_load(TABLE.read_text())
    with tempfile.TemporaryDirectory() as folder:
        for base in {case.get("base", "minimal") for case in cases}:
            for helm in helms:
                taken, said = rendered(helm, chart, [chart / "ci" / f"{base}-values.yaml"])
                if not taken:
                    raise SystemExit(f"ci/{base}-values.yaml must be taken as it is: {said}")
        # Written once, before any render: both Helms read the same file.
        changes = [pathlib.Path(folder) / f"{number}.yaml" for number in range(len(cases))]
        for change, case in zip(changes, cases):
            change.write_text(yaml.safe_dump(case["values"]))
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            asked = [
                pool.submit(answer, helm, chart, change, case)
                for change, case in zip(changes, cases)
                for helm in helms
            ]
            answers = [it.result() for it in asked]
    complaints = [wrong for _, wrong in answers if wrong]
    complaints += untried(chart, [said for said, _ in answers])
    if complaints:
        print("\n".join(complaints), file=sys.stderr)
        raise SystemExit("mend the chart's schema or guards, or the line in tests/chart/refused.yaml")
    print(f"{len(cases)} contradictions are refused by {len(helms)} Helms")


if __name__ == "__main__":
    main()
