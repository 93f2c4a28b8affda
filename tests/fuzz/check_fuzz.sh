#!/bin/sh
# Fuzzing of what comes from outside with libFuzzer under the address and undefined behaviour
# sanitizers, for a few seconds each: requests, configurations, step graphs, messages, the links of
# hosts, data files, pictures, chat templates, conversations, tokens in HDF5, tables of Arrow,
# weights (those in HDF5 and in GGUF by themselves), folders of weights and of PEFT, and manifests
# of compiled steps and checkpoints with digests that fit.
# A run takes a part of the harnesses, which CSE_TEST_PART chooses, and those whose sources are
# among the files that $CSE_TEST_CHANGED lists; FUZZ_ONLY='NAME ...' says which instead.
# FUZZ_SECONDS sets the time, FUZZ_RUNS a number of inputs in its place; FUZZ_CORPUS=DIR starts from
# a corpus and saves new inputs there. An input that crashes a harness is left in the build
# directory; tests/fuzz/bin/NAME FILE repeats it.
set -eu
length=-max_total_time=${FUZZ_SECONDS:-2}
[ -z "${FUZZ_RUNS:-}" ] || length=-runs=$FUZZ_RUNS
python=${PYTHON:-python3}
here=${top_builddir:-.}/tests/fuzz
tree=${top_srcdir:-.}
. "$tree/tests/support/part.sh"
[ "${CSE_SANITIZE:-no}" = no ] || {
    echo 'the harnesses have sanitizers of their own: skipped'
    exit 77
}
command -v "$python" >/dev/null || { echo 'there is no python3: skipped'; exit 77; }

mkdir -p "$here/bin" "$here/objects"
work=$(mktemp -d "$here/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
clang=
echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d == 0 && n != 0; }' \
    >"$work/probe.c"
for candidate in clang clang-14 clang-15 clang-16 clang-17 clang-18 clang-19; do
    if "$candidate" -fsanitize=fuzzer,address -o "$work/probe" "$work/probe.c" 2>/dev/null; then
        clang=$candidate
        break
    fi
done
[ -n "$clang" ] || { echo 'there is no clang with libFuzzer: skipped'; exit 77; }

# As the build has it, but for the compiler: what is looked into is compiled anew, what it calls
# beyond that is taken from the library.
variable() { # name: its value in the Makefile
    printf 'include Makefile\nprint-value:\n\t@echo $(%s)\n' "$1" |
        (cd "${top_builddir:-.}" && make -s -f - print-value)
}
flags="-g -O1 -std=gnu11 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined
    -fno-sanitize-recover=undefined -DHAVE_CONFIG_H -D_GNU_SOURCE -DCSE_BUILDING_LIBRARY
    -DCSE_BINDIR=\"/nowhere\" -DCSE_DATADIR=\"/nowhere\"
    -I${top_builddir:-.} -I$tree -I$tree/include $(variable JANSSON_CFLAGS) $(variable FYAML_CFLAGS)
    $(variable SODIUM_CFLAGS) $(variable MICROHTTPD_CFLAGS) $(variable SQLITE_CFLAGS)
    $(variable HDF5_CFLAGS) $(variable PCRE2_CFLAGS) $(variable ZSTD_CFLAGS)
    $(variable JPEG_CFLAGS) $(variable WEBP_CFLAGS) $(variable UTF8PROC_CFLAGS)"
libraries="$(variable dependency_libs) $(variable dashboard_libs)"

bytes='dataloader/files/byte_source.c dataloader/files/packed_input.c
    dataloader/files/gzip_decoder.c dataloader/files/zstd_decoder.c'
sources_of() { # harness
    echo "tests/fuzz/$1.c"
    (
        cd "$tree"
        case $1 in
        request) ls dashboard/http/target.c dashboard/http/exchange.c dashboard/http/framing.c \
            dashboard/api/api.c dashboard/api/describe.c dashboard/api/schema.c \
            dashboard/api/validator.c dashboard/api/answer.c dashboard/access/access.c ;;
        configuration) ls engine/base/config/*.c ;;
        graph) ls engine/graph/*.c ;;
        message) ls workers/messages/message.c workers/messages/message_codec.c ;;
        host_message) ls workers/group/host_message.c workers/messages/message_codec.c ;;
        link) ls workers/links/*.c ;;
        dataset) ls dataloader/tables/csv_table.c dataloader/formats/idx_file.c $bytes ;;
        records) ls dataloader/formats/npy_file.c dataloader/files/tar_index.c \
            dataloader/files/line_index.c dataloader/programs/answer_tensors.c \
            dataloader/prepare/text_pieces.c dataloader/files/file_pool.c $bytes ;;
        image) ls dataloader/pictures/*_decode.c dataloader/pictures/exif.c \
            dataloader/pictures/image.c dataloader/pictures/image_resize.c ;;
        hdf5) ls dataloader/formats/hdf5_table.c engine/formats/checkpoint/hdf5_chunks.c ;;
        arrow) ls dataloader/formats/arrow_file.c dataloader/formats/flatbuffer.c \
            dataloader/files/file_pool.c ;;
        chat_template) ls dataloader/chat/*.c ;;
        conversations) ls dataloader/conversations/conversation.c \
            dataloader/conversations/conversation_tokens.c dataloader/chat/*.c \
            dataloader/tokenizer/*.c dataloader/tokenizer/text/*.c ;;
        tokenizer | sentence_piece) ls dataloader/tokenizer/*.c dataloader/tokenizer/text/*.c ;;
        manifest) ls engine/code/codegen/artefact.c ;;
        hdf5_weights) ls engine/formats/weights/*.c engine/formats/weights/*/*.c \
            engine/formats/checkpoint/hdf5_chunks.c ;;
        adapter | folder | weights | gguf)
            ls engine/formats/weights/*.c engine/formats/weights/*/*.c ;;
        checkpoint) ls engine/formats/checkpoint/*.c engine/formats/checkpoint/formats/*.c ;;
        esac
        ls engine/base/*.c
    )
}

harnesses='request configuration graph message host_message link dataset records image
    hdf5 hdf5_weights arrow tokenizer sentence_piece chat_template manifest checkpoint weights gguf
    folder adapter conversations'
chosen=${FUZZ_ONLY:-}
if [ -z "$chosen" ]; then
    # shellcheck disable=SC2086 # a list of words
    chosen=$(part_of 4 harnesses $harnesses)
    for harness in $harnesses; do
        # What every harness has does not tell one from another.
        [ ! -f "${CSE_TEST_CHANGED:-}" ] ||
            ! sources_of "$harness" | grep -v '^engine/base/[^/]*$' |
            grep -qxFf "$CSE_TEST_CHANGED" || chosen="$chosen $harness"
    done
fi
chosen=$(for harness in $chosen; do echo "$harness"; done | sort -u)
for harness in $chosen; do sources_of "$harness"; done | sort -u >"$work/sources"
export clang flags tree here
cache=$(command -v ccache || :)
export cache
# shellcheck disable=SC2016 # for the shell that xargs starts
xargs -P 2 -n 1 sh -c '
    object=$here/objects/$(echo "$1" | tr / _).o
    # What it was made of, by the list that the compiler wrote: nothing of that is newer or gone.
    made_of=$(sed "s/^[^:]*://; s/\\\\\$//" "$object.d" 2>/dev/null)
    [ -f "$object" ] && [ -n "$made_of" ] && newer=$(find $made_of -newer "$object" 2>/dev/null) &&
        [ -z "$newer" ] ||
        $cache $clang $flags -w -MD -MF "$object.d" -c -o "$object" "$tree/$1"' compile \
    <"$work/sources"
for harness in $chosen; do
    objects=$(sources_of "$harness" | tr / _ | sed "s|^|$here/objects/|; s|\$|.o|")
    # shellcheck disable=SC2086 # lists of words
    $clang -fsanitize=fuzzer,address,undefined -o "$here/bin/$harness" $objects \
        "${top_builddir:-.}/.libs/libcsengine_dashboard.a" \
        "${top_builddir:-.}/.libs/libcsengine_internal.a" $libraries
done

"$python" "$tree/tests/fuzz/make_corpus.py" "$tree" \
    "${top_builddir:-.}/dashboard/openapi.json" "$work"
mkdir -p "$work/graph"
for pass in autodiff precision memory_plan; do
    "$CSENGINE_EXECUTABLE" compile "$tree/configs/synthetic.yaml" --compile_dir "$work/compiled" \
        --model_dir "$work/run" --print_after "$pass" --json >"$work/graphs" \
        2>"$work/compile.log" || cat "$work/compile.log"
    split -l 1 "$work/graphs" "$work/graph/$pass."
done
mkdir -p "$work/manifest" "$work/checkpoint"
find "$work/compiled" -name manifest -exec cp {} "$work/manifest/" \;
"$CSENGINE_EXECUTABLE" start "$tree/configs/synthetic.yaml" --compile_dir "$work/compiled" \
    --model_dir "$work/run" --num_steps 1 --no_dashboard >"$work/start.log" 2>&1 ||
    cat "$work/start.log"
cp "$work"/run/*.mdl "$work/checkpoint/"
mkdir -p "$work/hdf5" "$work/hdf5_weights"
for extension in pt npz gguf h5; do
    "$CSENGINE_EXECUTABLE" checkpoint convert "$work/weights/safetensors" \
        "$work/weights/$extension.$extension" >"$work/convert.log" 2>&1 || cat "$work/convert.log"
done
mv "$work/weights/h5.h5" "$work/hdf5_weights/"
"$python" -c 'import sys, zipfile
sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read("weights/data.pkl"))' \
    "$work/weights/pt.pt" >"$work/weights/pickle"

for sample in 8 50; do
    "$CSENGINE_EXECUTABLE" data tokenize "$tree/LICENSE" --train_tokenizer 300 \
        --sequence_length $sample --to "$work/tokens$sample" >"$work/tokenize.log" 2>&1 ||
        cat "$work/tokenize.log"
    cp "$work/tokens$sample"/*00000.h5 "$work/hdf5/$sample.h5"
    cp "$work/hdf5/$sample.h5" "$work/hdf5_weights/tokens$sample.h5"
done

failed=0
for harness in $chosen; do
    begin=$work/$harness
    corpus=${FUZZ_CORPUS:-$work/grown}/$harness
    mkdir -p "$corpus"
    [ -n "$(ls "$begin")" ] || { failed=1; echo "$harness: there is no input to begin with"; }
    # Files of strangers are mostly GGUF: these get a number of inputs, not a time.
    runs=$length
    [ "$harness" != gguf ] || [ -n "${FUZZ_SECONDS:-}${FUZZ_RUNS:-}" ] || runs=-runs=100000
    # libhdf5 leaks in many inputs, and asks for memory by a length in the file before it reads on:
    # leaks are looked for at the end, without its own.
    suppressions= more=
    case $harness in hdf5*)
        suppressions=suppressions=$tree/tests/fuzz/hdf5_leaks.supp:print_suppressions=0
        more='-detect_leaks=0 -malloc_limit_mb=1048576'
        ;;
    esac
    # What is refused for want of memory is refused.
    # shellcheck disable=SC2086 # a list of options
    if ASAN_OPTIONS=allocator_may_return_null=1 LSAN_OPTIONS=$suppressions \
        "$here/bin/$harness" "$runs" \
        -timeout=20 -rss_limit_mb=2048 -seed=1 $more \
        -dict="$work/$harness.dict" -artifact_prefix="$here/$harness-" -print_final_stats=1 \
        "$corpus" "$begin" >"$work/$harness.log" 2>&1; then
        echo "$harness: $(ls "$begin" | wc -l) inputs to begin with," \
            "$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$harness.log") runs," \
            "$(sed -n 's/.*\(cov: [0-9]*\).*/\1/p' "$work/$harness.log" | tail -n 1)"
    else
        failed=1
        tail -n 60 "$work/$harness.log"
    fi
done
exit "$failed"
