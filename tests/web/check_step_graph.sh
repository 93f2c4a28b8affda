#!/bin/sh
# What the drawing of the step graph says of precision, over made-up graphs and over two that the
# engine compiles here: see check_step_graph.mjs.
set -eu
top_srcdir=${top_srcdir:-.} top_builddir=${top_builddir:-build}
skip() {
    echo "skipped: $*"
    exit 77
}
node=${NODE:-$(command -v node || :)}
modules=$top_builddir/web_build/node_modules
[ "${CSE_SANITIZE:-no}" = no ] || skip 'the pages are no part of a sanitizer build'
[ -n "$node" ] || skip 'node is missing'
NODE=$node NPM=${NPM:-$(command -v npm || :)} sh "$top_srcdir/scripts/build_web.sh" modules \
    "$top_srcdir/web" "$top_builddir/web_build" || skip 'npm ci failed'
work=$(mktemp -d "${TMPDIR:-/tmp}/cse-step-graph.XXXXXX")
trap 'rm -rf "$work"' EXIT

# The graph of a small model of four layers, with settings of its own.
compile() {
    name=$1
    shift
    "$CSENGINE_EXECUTABLE" compile "$top_srcdir/configs/gpt2_tiny.yaml" --model_dir "$work/$name" \
        --print_after=numerics --json --set trainer.init.precision.fp16_type=bfloat16 "$@" \
        >"$work/$name.graphs" 2>"$work/$name.log" || { cat "$work/$name.log"; exit 1; }
    head -n 1 "$work/$name.graphs" >"$work/$name.json"
}
compile permitted
compile emulated --set trainer.init.precision.emulate_accumulation=true
timeout 120 "$node" "$top_srcdir/tests/web/check_step_graph.mjs" "$modules" \
    "$work/permitted.json" "$work/emulated.json"
