#!/bin/sh
# docs/families.md has a row for each model_type that a map of Hugging Face selects, with the model
# of that map, and no other row; the figures in it are those that tests/python/check_families.sh
# accepts.
set -eu
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "there is no python3: skipped"; exit 77; }
tree=${top_srcdir:-.}
check() { # PAGE
    "$python" -B - "$1" "$tree"/maps/*.yaml <<'END'
import re
import sys

page, maps = open(sys.argv[1], encoding="utf-8").read(), {}
for path in sys.argv[2:]:
    text = open(path, encoding="utf-8").read()
    selected = re.search(r"^selects: \{model_type: ([\w-]+)", text, re.M)
    if selected and "kind: hugging_face" in text:
        model = re.search(r"^model: (\S+)", text, re.M).group(1)
        maps.setdefault(selected.group(1), set()).add(model)
rows = {}
for line in page.splitlines():
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    if len(cells) == 7 and "`" in cells[1] and "`" in cells[2] and cells[3].isdigit():
        for kind in re.findall(r"`([\w-]+)`", cells[1]):
            rows.setdefault(kind, set()).update(re.findall(r"`([\w/]+)`", cells[2]))
        for figure in cells[4:6]:
            if figure != "-" and not 0 <= float(figure) <= 1e-5:
                sys.exit(f"{cells[0]}: {figure} is above 1e-5")
        if cells[6] != "yes":
            sys.exit(f"{cells[0]}: leaves {cells[6]}")
elsewhere = {"esm"}  # named below the table
if set(maps) - elsewhere != set(rows):
    sys.exit(f"maps and rows differ: {sorted(set(maps) - elsewhere ^ set(rows))}")
wrong = {kind for kind in rows if not maps[kind] & rows[kind]}
if wrong:
    sys.exit(f"the model of the map is another one: {sorted(wrong)}")
print(f"{len(rows)} kinds of folders")
END
}
check "$tree/docs/families.md"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed '/`qwen3`/d' "$tree/docs/families.md" >"$work/missing.md"
! check "$work/missing.md" 2>/dev/null || { echo "a missing row is not noticed"; exit 1; }
sed '/`qwen3`/s/e-0[0-9]/e-03/' "$tree/docs/families.md" >"$work/wrong.md"
! check "$work/wrong.md" 2>/dev/null || { echo "a figure out of bounds is not noticed"; exit 1; }
