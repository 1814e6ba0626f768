"""Makes commonmark-spec.json from the text of the CommonMark specification.

    npm pack commonmark-spec@0.31.2 && tar xzf commonmark-spec-0.31.2.tgz
    python tests/payloads/make_commonmark_spec.py package/spec.txt

The examples are part of the specification, which is (C) John MacFarlane and licensed CC-BY-SA 4.0; the made
file says so and stays under that licence.
"""

import json
import re
import sys
from pathlib import Path

TARGET = Path(__file__).with_name("commonmark-spec.json")

_FENCE = "`" * 32
_EXAMPLE_OR_HEADING = re.compile(
    rf"^{_FENCE} example\n(?P<markdown>.*?)^\.\n(?P<html>.*?)^{_FENCE}$|^#+ +(?P<section>[^\n]*)$",
    re.MULTILINE | re.DOTALL,
)
_VERSION = re.compile(r"^version: '(?P<version>[^']+)'$", re.MULTILINE)


def examples(spec: str) -> list[dict[str, object]]:
    """Every example in order; an arrow in the specification stands for a tab."""
    found: list[dict[str, object]] = []
    section = ""
    for match in _EXAMPLE_OR_HEADING.finditer(spec.partition("<!-- END TESTS -->")[0]):
        if match["section"] is not None:
            section = match["section"].strip()
            continue
        markdown = match["markdown"].replace("→", "\t")
        found.append({"number": len(found) + 1, "section": section, "markdown": markdown})
    return found


def main(spec_path: str) -> None:
    """Write TARGET."""
    spec = Path(spec_path).read_text(encoding="utf-8")
    version = _VERSION.search(spec)
    if version is None:
        raise SystemExit(f"{spec_path} is not the text of the CommonMark specification")
    page = {
        "title": f"Examples of the CommonMark specification, version {version['version']}",
        "author": "John MacFarlane",
        "licence": "CC-BY-SA 4.0, https://creativecommons.org/licenses/by-sa/4.0/",
        "source": "npm package commonmark-spec, spec.txt; made by make_commonmark_spec.py",
        "examples": examples(spec),
    }
    TARGET.write_text(json.dumps(page, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
