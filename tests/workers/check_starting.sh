#!/bin/sh
# Workers that die while a cluster starts, the cluster of training and that of each validation: the
# run ends with the bits of one without deaths. One that can never start ends the run with its own
# words. A script in place of the worker's executable ends the first process of each slot.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
config=${top_srcdir:?}/configs/synthetic.yaml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

complain() {
    echo "$*"
    failed=1
}

worker() { # name, lines...: a worker's executable of these lines
    file=$work/$1
    shift
    printf '#!/bin/sh\n' >"$file"
    printf '%s\n' "$@" "exec '$csengine' \"\$@\"" >>"$file"
    chmod 755 "$file"
}

start() { # name, arguments...
    name=$1
    shift
    CSENGINE_EXECUTABLE=$work/$name CSE_DASHBOARD=0 "$csengine" start "$config" \
        --model_dir "$work/$name.run" --compile_dir "$work/compiled" --json --num_csx 2 \
        --set loop.num_steps=60 --set loop.eval_frequency=20 --set loop.eval_steps=3 \
        "$@" >"$work/$name.out" 2>"$work/$name.err"
}

digest_of() { sed -n 's/.*"weights_digest":"\([0-9a-f]*\)".*/\1/p' "$work/$1.out"; }

worker plain
worker killed 'case $* in *--incarnation=0*) kill -KILL $$ ;; esac'
worker soon 'case $* in *--incarnation=0*) (sleep 0.004; kill -SEGV $$) 2>/dev/null & ;; esac'
worker missing 'echo "cannot open libmissing.so" >&2' 'exit 127'

start plain || complain "plain: exit code $?: $(cat "$work/plain.err")"
[ -n "$(digest_of plain)" ] || complain "plain: no digest"
for name in killed soon; do
    start $name || complain "$name: exit code $?: $(cat "$work/$name.err")"
    [ "$(digest_of $name)" = "$(digest_of plain)" ] || complain "$name: another digest"
done
# Six clusters (training and validation, three times) of two replicas and two input workers.
[ "$(grep -c 'a new process takes its place' "$work/killed.err")" -ge 24 ] ||
    complain "killed: fewer deaths than meant: $(cat "$work/killed.err")"

start missing
code=$?
[ $code -eq 69 ] || complain "missing: exit code $code, not 69"
for text in 'cannot open libmissing.so' 'ended with exit code 127 before the run began'; do
    grep -q "$text" "$work/missing.err" ||
        complain "missing: without '$text': $(cat "$work/missing.err")"
done
exit $failed
