#!/bin/sh
# Clients that users' generators make of the API's description compile and work: openapi-typescript
# with the TypeScript compiler, and openapi-python-client, each with a small program that reads a
# run. The packages come into the build directory once; their versions are pinned.
set -eu
top_srcdir=${top_srcdir:-.} top_builddir=${top_builddir:-build}
skip() {
    echo "skipped: $*"
    exit 77
}
python=${PYTHON:-python3} node=${NODE:-$(command -v node || :)} npm=${NPM:-$(command -v npm || :)}
[ "${CSE_SANITIZE:-no}" = no ] || skip 'the clients are no part of a sanitizer build'
[ -n "$node" ] && [ -n "$npm" ] || skip 'node and npm are missing'
"$python" -c 'import ensurepip, venv' 2>/dev/null || skip 'python3-venv is missing'

sources=$(cd "$top_srcdir/tests/dashboard/clients" && pwd)
description=$(cd "$top_builddir/dashboard" && pwd)/openapi.json
work=$top_builddir/client_test
mkdir -p "$work"
work=$(cd "$work" && pwd)
if ! cmp -s "$sources/package-lock.json" "$work/package-lock.json"; then
    cp "$sources/package.json" "$sources/package-lock.json" "$work/"
    (cd "$work" && "$npm" ci --ignore-scripts --no-audit --no-fund --prefer-offline \
        >npm.log 2>&1) || {
        rm -f "$work/package-lock.json"
        skip "npm ci failed, see $work/npm.log"
    }
fi
if ! cmp -s "$sources/requirements.txt" "$work/requirements.txt"; then
    rm -rf "$work/venv"
    { "$python" -m venv "$work/venv" && "$work/venv/bin/pip" install --quiet --no-deps \
        --disable-pip-version-check -r "$sources/requirements.txt"; } >"$work/pip.log" 2>&1 ||
        skip "pip failed, see $work/pip.log"
    cp "$sources/requirements.txt" "$work/requirements.txt"
fi

# TypeScript.
cp "$sources/program.ts" "$work/program.ts"
"$node" "$work/node_modules/openapi-typescript/bin/cli.js" "$description" -o "$work/api.ts" \
    >"$work/typescript.log" 2>&1 || { cat "$work/typescript.log"; exit 1; }
(cd "$work" && "$node" node_modules/typescript/bin/tsc --strict --noUncheckedIndexedAccess \
    --target es2022 --module nodenext --moduleResolution nodenext --types node program.ts)

# Python. The generator leaves out bodies in YAML and says so; whatever else it leaves out is a
# fault of the description.
rm -rf "$work/csengine_client"
(cd "$work" && venv/bin/openapi-python-client generate --path "$description" \
    --config "$sources/generator.yaml" --meta none \
    --output-path csengine_client >python.log 2>&1) || { cat "$work/python.log"; exit 1; }
warnings=$(grep -cE '^WARNING|^ERROR|^Unable' "$work/python.log" || :)
yaml=$(grep -c '^Unsupported content type application/yaml' "$work/python.log" || :)
[ "$warnings" -eq "$yaml" ] || { cat "$work/python.log"; exit 1; }
cp "$sources/program.py" "$work/program.py"

PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
exec "$python" "$top_srcdir/tests/dashboard/clients_test.py" "$node" "$work"
