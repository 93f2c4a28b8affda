#!/bin/sh
# Scans the tree, writes the source lists and the registries of the plugin folders, and runs
# autoreconf. Run it after adding or removing a file.
set -eu
cd "$(dirname "$0")"

# Plugin folders: folder | kind | C type of a descriptor | header that declares the array (and holds
# or includes the contract) | array.
# A plugin's file ends with a descriptor named cse_<singular>_<file name>; a file with a header of
# its own name beside it is a helper of the folder and has none. "@" is format.h in the
# folder above the plugins'; an empty one is FOLDER/KIND.h.
plugins='
engine/graph/ops|op|cse_op|engine/graph/op.h|cse_ops
engine/nn/optimizers|optimizer|cse_optimizer_descriptor|engine/nn/plugins.h|cse_optimizers
engine/nn/schedules|schedule|cse_schedule_descriptor|engine/nn/plugins.h|cse_schedules
engine/nn/metrics|metric|cse_metric_descriptor|engine/nn/plugins.h|cse_metrics
engine/nn/models|model|cse_model_descriptor|engine/nn/plugins.h|cse_models
engine/nn/objectives|objective|cse_objective_descriptor|engine/nn/objective.h|cse_objectives
run/callbacks|callback|cse_callback_descriptor|run/job/callbacks.h|cse_callbacks
run/loggers|logger|cse_logger_descriptor|run/loggers/logger.h|cse_loggers
engine/formats/checkpoint/formats|format|cse_checkpoint_format|@|cse_checkpoint_formats
engine/formats/weights/weight_formats|weight_format|cse_weights_format|@|cse_weights_formats
dataloader/inputs|input|cse_input_descriptor|dataloader/input.h|cse_inputs
workers/launchers|launcher|cse_launcher|workers/launchers/launcher.h|cse_launchers
workers/transports|transport|cse_transport|workers/transports/transport.h|cse_transports
workers/host_launchers|host_launcher|cse_host_launcher||cse_host_launchers
workers/links|host_link|cse_host_link|workers/links/link.h|cse_host_links
cli/commands|command|cse_command|cli/arguments/command.h|cse_commands
run/infer/tasks|task|cse_language_task|run/infer/tasks/language_task.h|cse_language_tasks
dashboard/routes|route|cse_route|dashboard/api/route.h|cse_routes
'

# Replaces a file only when its content changed, so that nothing is rebuilt without need.
write_if_changed() {
    cat >"$1.new"
    if cmp -s "$1.new" "$1" 2>/dev/null; then rm "$1.new"; else mv "$1.new" "$1"; fi
}

plugins_of() { # folder
    for source in $(sources_of "$1"); do
        [ -f "${source%.c}.h" ] || echo "$source"
    done
}
sources_of() { LC_ALL=C find "$@" -name '*.c' ! -name 'registry.c' | LC_ALL=C sort; }
headers_of() { LC_ALL=C find "$@" -name '*.h' ! -path '*/generated/*' | LC_ALL=C sort; }

write_registry() { # folder singular type header array
    {
        echo "/* Written by autogen.sh: the plugins of $1. */"
        echo "#include <stddef.h>"
        echo
        echo "#include \"$4\""
        echo
        for file in $(plugins_of "$1"); do
            echo "extern const $3 cse_$2_$(basename "$file" .c);"
        done
        echo
        echo "const $3 *const $5[] = {"
        for file in $(plugins_of "$1"); do
            echo "    &cse_$2_$(basename "$file" .c),"
        done
        echo "    NULL,"
        echo "};"
    } | write_if_changed "$1/registry.c"
}

{
    echo "/* Written by autogen.sh: every plugin kind of the library. */"
    echo "#include \"run/job/kinds.h\""
    echo
    echo "#include <stddef.h>"
    echo
} >kinds.tmp
{ echo "const cse_kind cse_kinds[] = {"; } >kinds_rows.tmp
for row in $plugins; do
    IFS='|' read -r folder singular type header array <<EOF
$row
EOF
    [ -n "$header" ] || header=$folder/$singular.h
    [ "$header" != @ ] || header=$(dirname "$folder")/format.h
    [ -f "$header" ] || continue
    [ -d "$folder" ] || mkdir -p "$folder"
    write_registry "$folder" "$singular" "$type" "$header" "$array"
    case $folder in cli/* | dashboard/*) continue ;; esac
    echo "#include \"$header\"" >>kinds.tmp
    echo "    { \"$(basename "$folder")\", $array }," >>kinds_rows.tmp
done
{
    awk '!/^#include "/ || !seen[$0]++' kinds.tmp
    echo
    cat kinds_rows.tmp
    echo "    { NULL, NULL },"
    echo "};"
} | write_if_changed run/job/kinds.c
rm kinds.tmp kinds_rows.tmp

# The descriptors of the ops, which the ops and the passes name.
{
    echo "/* Written by autogen.sh: the ops of engine/graph/ops. */"
    echo "#ifndef CSE_ENGINE_GRAPH_OP_LIST_H"
    echo "#define CSE_ENGINE_GRAPH_OP_LIST_H"
    echo
    echo "#include \"csengine/op.h\""
    echo
    for file in $(plugins_of engine/graph/ops); do
        echo "extern const cse_op cse_op_$(basename "$file" .c);"
    done
    echo
    echo "#endif"
} | write_if_changed engine/graph/op_list.h

# The samples of the plugins, for the tests.
{
    rows=$(sed -n 's/^CSE_SAMPLES(\([a-z]*\), \([a-z0-9_]*\),.*/cse_samples_of_\1_\2/p' \
        $(sources_of tests/samples))
    echo "/* Written by autogen.sh: the samples of tests/samples. */"
    echo "#include <stddef.h>"
    echo
    echo "#include \"tests/samples/samples.h\""
    echo
    printf 'extern const cse_samples %s;\n' $rows
    echo
    echo "const cse_samples *const cse_samples_of_all[] = {"
    printf '    &%s,\n' $rows
    echo "    NULL,"
    echo "};"
} | write_if_changed tests/samples/registry.c

mkdir -p include/csengine/generated
LC_ALL=C awk -f scripts/generate_ops_header.awk $(sources_of engine/graph/ops) |
    write_if_changed include/csengine/generated/ops.h

# What generated code begins with, as a string of the library.
embedded_files='engine/base/random.h engine/base/types/narrow.h engine/base/types/dynamic_map.h
    engine/code/codegen/prelude.h'
{
    echo "/* Written by autogen.sh: the text of $(echo $embedded_files | sed 's/ / and /'). */"
    echo "#include \"engine/code/codegen/codegen.h\""
    echo
    echo "const char cse_prelude_text[] ="
    cat $embedded_files |
        sed -e '/^#include "/d' -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n"/'
    echo "    ;"
} | write_if_changed engine/code/codegen/prelude_text.c

# The tables of the run store, as a string of the library.
{
    echo "/* Written by autogen.sh: the text of store/schema.sql. */"
    echo '#include "store/database.h"'
    echo
    echo "const char cse_store_schema[] ="
    sed -e '/^--/d' -e '/^$/d' -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n"/' \
        store/schema.sql
    echo "    ;"
} | write_if_changed store/schema_text.c

# The program that reads Parquet.
{
    echo "/* Written by autogen.sh: the text of python/csengine/parquet.py. */"
    echo '#include "dataloader/formats/parquet_file.h"'
    echo
    echo "const char cse_parquet_program[] ="
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n"/' python/csengine/parquet.py
    echo "    ;"
} | write_if_changed dataloader/formats/parquet_program_text.c

# The batch script of a run.
{
    echo "/* Written by autogen.sh: the text of deploy/several_hosts.sbatch. */"
    echo '#include "workers/batch/slurm_script.h"'
    echo
    echo "const char cse_slurm_script[] ="
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n"/' deploy/several_hosts.sbatch
    echo "    ;"
} | write_if_changed workers/batch/slurm_script_text.c

# The maps of weights, and the lists of keys that they share.
map_texts() { # ARRAY FILES...
    echo "const cse_map_text $1[] = {"
    shift
    for file in "$@"; do
        printf '    { "%s",\n' "$(basename "$file" .yaml)"
        sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/      "/' -e 's/$/\\n"/' "$file"
        echo "    },"
    done
    echo "    { NULL, NULL },"
    echo "};"
}
{
    echo "/* Written by autogen.sh: the files of maps. */"
    echo '#include "engine/formats/weights/map.h"'
    echo
    map_texts cse_map_texts maps/*.yaml
    echo
    map_texts cse_map_key_texts maps/keys/*.yaml
} | write_if_changed engine/formats/weights/maps_text.c

# The shipped configurations, as templates of new jobs.
{
    echo "/* Written by autogen.sh: the files of configs. */"
    echo '#include "dashboard/checks/templates.h"'
    echo
    echo "const cse_template cse_templates[] = {"
    for file in configs/*.yaml; do
        printf '    { "%s",\n' "$(basename "$file" .yaml)"
        sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/      "/' -e 's/$/\\n"/' "$file"
        echo "    },"
    done
    echo "    { NULL, NULL },"
    echo "};"
} | write_if_changed dashboard/checks/templates_text.c

# What only the program and its library have: kernels of oneDNN, which brings OpenMP, and HDF5. In
# their place the client library has the files of client/.
computing_files='
engine/formats/checkpoint/hdf5_chunks.c
dataloader/formats/hdf5_table.c
dataloader/prepare/text_pieces.c
dataloader/prepare/token_writer.c
dataloader/prepare/tokenize.c
engine/base/library_code.c
engine/formats/checkpoint/earlier_file.c
engine/formats/checkpoint/hdf5_driver.c
engine/formats/checkpoint/hdf5_file.c
engine/formats/checkpoint/hdf5_library.c
engine/code/kernels/conv2d.c
engine/code/kernels/dnnl.c
engine/code/kernels/matmul.c
engine/code/kernels/own_kernels.c
engine/formats/weights/apart.c
engine/formats/weights/weight_formats/hdf5_datasets.c
engine/formats/weights/weight_formats/lz4_filter.c
'

list() { # variable files...
    name=$1
    shift
    printf '%s =' "$name"
    for file in "$@"; do printf ' \\\n\t%s' "$file"; done
    printf '\n'
}

{
    echo "# Written by autogen.sh from the files that are there."
    list library_sources $(sources_of engine dataloader store workers run) \
        $(LC_ALL=C find engine dataloader store workers run -name registry.c | LC_ALL=C sort)
    list library_headers $(headers_of engine dataloader store workers run)
    list client_sources $(sources_of client) \
        $(sources_of engine dataloader store workers run | grep -vxF "$computing_files") \
        $(LC_ALL=C find engine dataloader store workers run -name registry.c | LC_ALL=C sort)
    list client_headers $(headers_of client)
    list dashboard_sources $(sources_of dashboard) \
        $(LC_ALL=C find dashboard -name registry.c | LC_ALL=C sort)
    list dashboard_headers $(headers_of dashboard)
    list program_sources $(sources_of cli) $(LC_ALL=C find cli -name registry.c)
    list program_headers $(headers_of cli)
    list public_headers $(LC_ALL=C find include/csengine -maxdepth 1 -name '*.h' | LC_ALL=C sort)
    tests=$(LC_ALL=C find tests -name 'check_*.c' | LC_ALL=C sort)
    support=$(LC_ALL=C find tests/support -name '*.c' 2>/dev/null | LC_ALL=C sort)
    scripts=$(LC_ALL=C find tests -name 'check_*.sh' | LC_ALL=C sort)
    examples=$(LC_ALL=C find examples -name '*.c' ! -path '*/outside/*' 2>/dev/null | LC_ALL=C sort)
    outside=$(LC_ALL=C find examples/outside -name '*.c' 2>/dev/null | LC_ALL=C sort)
    benches=$(LC_ALL=C find bench -name 'bench_*.c' 2>/dev/null | LC_ALL=C sort)
    list test_support $support $(headers_of tests)
    list test_samples $(sources_of tests/samples) tests/samples/registry.c
    # In the order they are run: the slowest first, so that none of them runs alone at the end.
    all=$(for f in $scripts $tests; do echo "${f%.c}"; done)
    slowest=$(for f in $(cat tests/slowest.txt); do echo "$all" | grep -x "$f" || :; done)
    list tests_in_order $slowest $(for f in $all; do
        grep -qx "$f" tests/slowest.txt || echo "$f"
    done)
    list test_scripts $scripts
    list test_programs $(for f in $tests; do echo "${f%.c}"; done)
    list example_programs $(for f in $examples; do echo "${f%.c}"; done)
    list bench_programs $(for f in $benches; do echo "${f%.c}"; done)
    list outside_modules $(for f in $outside; do echo "${f%.c}.la"; done)
    for f in $tests; do
        v=$(echo "${f%.c}" | tr '/.-' '___')
        # A client has the client library and nothing else of ours.
        case $f in
        tests/client/*)
            printf '%s_SOURCES = %s\n' "$v" "$f"
            printf '%s_LDADD = libcsengine_client.la $(CHECK_LIBS)\n' "$v"
            continue
            ;;
        esac
        printf '%s_SOURCES = %s\nnodist_%s_SOURCES = $(test_support)\n' "$v" "$f" "$v"
        case $f in
        tests/dashboard/* | tests/cli/*) more='libcsengine_dashboard.la ' ;;
        *) more= ;;
        esac
        ! grep -q '^#include "tests/samples/' "$f" || more="libtest_samples.la $more"
        printf '%s_LDADD = %slibcsengine_internal.la $(CHECK_LIBS)\n' "$v" "$more"
    done
    for f in $examples; do
        v=$(echo "${f%.c}" | tr '/.-' '___')
        printf '%s_SOURCES = %s\n%s_LDADD = libcsengine.la\n' "$v" "$f" "$v"
    done
    for f in $benches; do
        v=$(echo "${f%.c}" | tr '/.-' '___')
        printf '%s_SOURCES = %s\n%s_LDADD = libcsengine_internal.la\n' "$v" "$f" "$v"
    done
    for f in $outside; do
        v=$(echo "${f%.c}.la" | tr '/.-' '___')
        printf '%s_SOURCES = %s\n' "$v" "$f"
        printf '%s_LDFLAGS = -module -avoid-version -rpath /nowhere\n' "$v"
        printf '%s_LIBADD = libcsengine.la\n' "$v"
    done
    list bench_scripts $(LC_ALL=C find bench -name 'bench_*.sh' 2>/dev/null | LC_ALL=C sort)
    list man_pages $(LC_ALL=C find man -name '*.[1-8]' 2>/dev/null | LC_ALL=C sort)
    list completion_files $(LC_ALL=C find completion -name 'csengine.*' 2>/dev/null | LC_ALL=C sort)
    # Installed: configurations and examples to start from.
    list data_files $(LC_ALL=C find configs deploy examples maps -type f \
        \( -name '*.yaml' -o -name '*.c' -o -path 'deploy/*' \) \
        2>/dev/null | LC_ALL=C sort)
    list web_files $(LC_ALL=C find web -type d \( -name node_modules -o -path web/dist \
        -o -path web/generated \) -prune -o -type f -print | LC_ALL=C sort)
    list tree_extra store/schema.sql bench/mkl_fast_path.c bench/memory_rates.c \
        $(LC_ALL=C find configs deploy docs maps scripts tests bench examples python -type f \
        ! -path '*/node_modules/*' ! -name '*.c' ! -name '*.h' ! -name '*.o' ! -name '*.pyc' \
        ! -name '*.so' \
        2>/dev/null | LC_ALL=C sort) \
        $(LC_ALL=C find client -name '*.[ch]' | LC_ALL=C sort) \
        $(LC_ALL=C find tests/fuzz tests/dashboard/libraries tests/dashboard/programs \
        -name '*.c' | LC_ALL=C sort)
} | write_if_changed sources.am

[ "${1:-}" = --lists-only ] || autoreconf --install --warnings=all
