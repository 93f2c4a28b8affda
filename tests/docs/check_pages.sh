#!/bin/sh
# What the pages name is there: files, links and anchors, commands with their options, settings,
# variables, symbols, targets of make, paths of the REST API; files that comments of sources name;
# and the index of docs/ has every page. A page with one wrong name of each kind is refused.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
source=$(cd "${top_srcdir:-.}" && pwd)
openapi=${top_builddir:-.}/dashboard/openapi.json
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "$python is not there"; exit 77; }
[ -f "$openapi" ] || { echo "FAIL: $openapi is not there"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pages() { "$python" -B "$source/tests/docs/pages.py" "$csengine" "$source" "$openapi" "$@"; }
pages || exit 1

# One wrong name a line, and one in a block.
cat >"$work/wrong.md" <<'END'
[a file](no_such_page.md)
[a heading](#nowhere)
`csengine strat CONFIG.yaml`
`csengine start CONFIG.yaml --num_csz 2`
`--no_such_option`
`loop.num_stepz`
`cse_no_such_call()`
CSE_NO_SUCH_VARIABLE
GET /api/v1/jobz
`make chekc`
`engine/graph/grahp.h`
`grahp.h`
`num_hiden_layers: 2`
`cstorch.no_such_name`
`tests/engine/no_such_folder`
```sh
csengine get jobs --no_such_option
```
END
pages "$work/wrong.md" >"$work/told" && { echo "FAIL: wrong names are accepted"; exit 1; }
failed=0
for line in $(seq 15) 17; do
    grep -q "wrong.md:$line: " "$work/told" || {
        echo "FAIL: not told: $(sed -n "${line}p" "$work/wrong.md")"
        failed=1
    }
done
exit $failed
