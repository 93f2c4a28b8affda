#!/bin/sh
# The command line: help, lists, and each kind of wrong use with its message and exit code.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
source_directory=${top_srcdir:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

# expect CODE TEXT ARGUMENTS...: the exit code, and a text that the output must hold.
expect() {
    code=$1 text=$2
    shift 2
    "$csengine" "$@" >"$work/output" 2>&1 </dev/null
    got=$?
    [ "$got" = "$code" ] ||
        fail "csengine $*: exit code $got, expected $code: $(cat "$work/output")"
    grep -qF -e "$text" "$work/output" ||
        fail "csengine $*: no \"$text\" in: $(cat "$work/output")"
}

config=$source_directory/configs/synthetic.yaml

expect 64 'usage: csengine COMMAND'
expect 0 'usage: csengine COMMAND' --help
expect 0 'csengine ' --version
# Every file of the folder is a command that --help knows (with - for _), but for the hidden one.
"$csengine" --help >"$work/help"
for file in "$source_directory"/cli/commands/*.c; do
    name=$(basename "$file" .c)
    case $name in
    registry | agent | answer | complete | probe | relay | serve_model) continue ;;
    worker | writer) continue ;;
    esac
    command=$(grep -oE "^  $(echo "$name" | sed 's/_/[-_]/g')( |$)" "$work/help" | tr -d ' ')
    [ -n "$command" ] || fail "--help does not list $name"
    expect 0 "usage: csengine $command" "$command" --help
done
# Every command stands in one group, and no line is wider than a terminal.
sed -n '/^usage/,/COMMAND --help/p' "$work/help" | sed '1d;$d' >"$work/groups"
[ "$(grep -c '^[a-z].*:$' "$work/groups")" = 4 ] || fail "not four groups: $(cat "$work/groups")"
for heading in 'run:' 'look:' 'serve and steer:' 'measure:'; do
    grep -qx "$heading" "$work/groups" || fail "no group \"$heading\""
done
"$csengine" list commands | while read -r command rest; do
    [ "$(grep -cE "^  $command(  |\$)" "$work/groups")" = 1 ] || echo "$command"
    "$csengine" "$command" --help
done >"$work/all_help"
grep -E '^[a-z-]+$' "$work/all_help" && fail "commands that are not in one group: see above"
cat "$work/help" >>"$work/all_help"
[ "$(wc -l <"$work/all_help")" -gt 200 ] || fail "little help: $(cat "$work/all_help")"
awk 'length > 80 { print; wide = 1 } END { exit wide }' "$work/all_help" ||
    fail "lines of more than 80 columns: see above"
for hidden in agent answer probe relay worker writer; do
    grep -qw "$hidden" "$work/help" && fail "--help lists the hidden command $hidden"
done

expect 64 'unknown command "strt"; did you mean "start"?' strt
expect 64 'unknown option --num-cxs; did you mean --num_csx?' start --num-cxs 2 "$config"
expect 64 '--num_csx needs a value: --num_csx N' start "$config" --num_csx
expect 64 '--json is a switch; accepted: --json, --json=true, --json=false' start --json=x "$config"
expect 64 'an argument is missing; usage: csengine start CONFIG.yaml' start
expect 64 'is one argument too many; usage: csengine start' start "$config" more
expect 64 'options begin with two dashes' start -n 2 "$config"
expect 64 '--set loop.num_steps: a setting is changed by --set path=value' \
    start "$config" --set loop.num_steps
expect 64 'unknown word "inf"; did you mean "info"?; accepted: info, verify, digest, save' \
    checkpoint inf x
expect 64 'unknown kind "opz"; did you mean "ops"?' list opz
# At most three lines, the way to the rest among them, and nothing that only a program reads.
for words in 'start --num-cxs 2' 'serve --rot x' 'submit --zzz' 'list opz' 'strt'; do
    # shellcheck disable=SC2086 # several words
    "$csengine" $words 2>"$work/output"
    [ "$(wc -l <"$work/output")" -le 3 ] || fail "$words: $(cat "$work/output")"
    grep -q '^retryable' "$work/output" && fail "$words: $(cat "$work/output")"
done
all='`csengine start --help` shows all'
expect 64 "start: unknown option --num-cxs; did you mean --num_csx? $all" start --num-cxs 2
expect 64 'submit: unknown option --zzz; `csengine submit --help` shows all' submit --zzz
"$csengine" start "$config" --json --set loop.num_step=3 --model_dir "$work/json" 2>/dev/null |
    grep -q '"event":"end".*"retryable":false' || fail "--json does not say whether to try again"

expect 66 '/nowhere.yaml: there is no such file' start /nowhere.yaml
expect 78 '--num_csx: trainer.init.backend.cluster_config.num_csx: "0" is out of range' \
    start --num-csx=0 "$config"
expect 78 'accepted: an integer from 1 to 1024' start --num-csx=0 "$config"
expect 78 '--weight_grad_reduce: trainer.init.precision.weight_grad_reduce: "fp8"' \
    start --weight-grad-reduce fp8 "$config"
expect 78 'unknown setting "trainer.init.loop.num_step"; did you mean "num_steps"?' \
    start --set loop.num_step=3 "$config"
expect 78 'exclude each other' start "$config" --num_epochs 3 --num_steps 3
expect 78 'trainer.fit.train_dataloader is missing; training needs it' \
    start --set fit.train_dataloader=null "$config"
expect 78 'trainer.fit.val_dataloader is missing; evaluation needs it' \
    eval --set fit.val_dataloader=null "$config"
expect 78 'trainer.init.optimizer is missing' start --set optimizer=null "$config"
expect 64 'there is no pass "fusio"; did you mean "fusion"?' \
    compile --print-after=fusio "$config"
sed 's/name: fc_mnist/name: fc_mnits/' "$config" >"$work/member.yaml"
expect 78 "$work/member.yaml:8:19: there is no model 'fc_mnits' (did you mean 'fc_mnist'?)" \
    start "$work/member.yaml"
sed 's/SGD: {/SDG: {/' "$config" >"$work/member.yaml"
expect 78 "$work/member.yaml:10:7: there is no optimizer 'SDG' (did you mean 'SGD'?)" \
    start "$work/member.yaml"
expect 78 "--set train_dataloader.data_processor: there is no input function 'synthetics'" \
    start "$config" --set train_dataloader.data_processor=synthetics
printf 'trainer:\n  init:\n    lopp: {num_steps: 3}\n' >"$work/wrong.yaml"
expect 78 "$work/wrong.yaml:3:5: unknown setting \"trainer.init.lopp\"; did you mean \"loop\"?" \
    start "$work/wrong.yaml"
printf 'trainer: {init: [\n' >"$work/wrong.yaml"
expect 78 "$work/wrong.yaml:" start "$work/wrong.yaml"

expect 66 '/nowhere.mdl' checkpoint info /nowhere.mdl
head -c 3000 /dev/zero >"$work/zeros.mdl"
expect 65 'zeros.mdl' checkpoint verify "$work/zeros.mdl"

expect 0 'optimizers' list
expect 0 'matmul' list ops
expect 0 'momentum' list optimizers SGD
expect 0 '"name": "start"' list commands --json
expect 0 'trainer.init.backend.cluster_config.num_csx' list settings
expect 0 'an integer from 1 to 1024; default: 1' list settings
expect 0 'compiler' doctor --model_dir "$work"
[ -z "$(ls -A "$work" | grep doctor)" ] || fail "doctor leaves files behind"

# Every configuration that is kept with the sources is accepted.
for file in "$source_directory"/configs/*.yaml; do
    if grep -q /usr/share/datasets "$file" && [ ! -d /usr/share/datasets/fashion-mnist ]; then
        continue
    fi
    expect 0 'Compile validated locally.' start "$file" --validate_only --model_dir "$work/model"
done

# The man page that is kept with the sources says what the program says, and is well formed.
"$csengine" --print-man | cmp - "$source_directory/man/csengine.1" ||
    fail "man/csengine.1 is old: csengine --print-man >man/csengine.1"
for section in NAME SYNOPSIS DESCRIPTION COMMANDS 'EXIT STATUS' ENVIRONMENT FILES EXAMPLES; do
    grep -qx ".SH $section" "$source_directory/man/csengine.1" || fail "man: no section $section"
done
if command -v man >/dev/null; then
    LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -l "$source_directory/man/csengine.1" \
        >"$work/man" 2>"$work/output"
    [ ! -s "$work/output" ] || fail "man --warnings: $(cat "$work/output")"
else
    echo "man is not installed: the page was not formatted"
fi
if command -v mandoc >/dev/null; then
    mandoc -T lint -W warning "$source_directory/man/csengine.1" >"$work/output" 2>&1 ||
        fail "mandoc: $(cat "$work/output")"
fi
# The examples are commands and options that there are.
sed -n '/^.SH EXAMPLES/,$s/^.B "csengine \(.*\)"$/\1/p' "$source_directory/man/csengine.1" |
    sed 's/\\-/-/g' >"$work/examples"
[ "$(wc -l <"$work/examples")" -ge 10 ] || fail "few examples: $(cat "$work/examples")"
while read -r command words; do
    "$csengine" "$command" --help >"$work/output" || fail "example of $command"
    for word in $words; do
        case $word in --*) ;; *) continue ;; esac
        grep -q "^  ${word%%=*}" "$work/output" || fail "example: $command $word"
    done
done <"$work/examples"

[ "$failures" = 0 ] || exit 1
echo "all as expected"
