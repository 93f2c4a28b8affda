#!/bin/sh
# A run parses its configuration once, for any number of processes: a preloaded library counts the
# texts that libfyaml is given in the coordinator and every worker. Lists that are defaults of
# settings are texts of their own, which are not counted.
set -eu
if [ "${CSE_SANITIZE:-no}" != no ]; then
    echo "skipped: a sanitizer wants to be the first library that is loaded"
    exit 77
fi
compiler=${CC:-cc}
command -v "${compiler%% *}" >/dev/null || { echo "skipped: no C compiler"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/count.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int fy_parser_set_string(void *parser, const char *text, size_t size);
int fy_parser_set_string(void *parser, const char *text, size_t size)
{
    int (*set)(void *, const char *, size_t) =
        (int (*)(void *, const char *, size_t))dlsym(RTLD_NEXT, "fy_parser_set_string");
    if (size > 0 && *text != '[' && *text != '{') {
        int file = open(getenv("CSE_TEST_PARSES"), O_WRONLY | O_APPEND | O_CREAT, 0600);
        if (write(file, "parse\n", 6) != 6)
            abort();
        close(file);
    }
    return set(parser, text, size);
}
END
$compiler -shared -fPIC -o "$folder/count.so" "$folder/count.c" -ldl

run() { # MODEL_DIR arguments
    name=$1
    shift
    : >"$folder/parses"
    LD_PRELOAD="$folder/count.so" CSE_TEST_PARSES="$folder/parses" "$CSENGINE_EXECUTABLE" start \
        "$top_srcdir/configs/synthetic.yaml" --num_csx 2 --num_steps 3 \
        --model_dir "$folder/$name" "$@" >"$folder/output" 2>&1 ||
        { cat "$folder/output"; exit 1; }
    wc -l <"$folder/parses"
}

parses=$(run first)
[ "$parses" -eq 1 ] || { echo "the file was parsed $parses times"; exit 1; }
# A --set is a small text of its own.
parses=$(run second --set seed=3)
[ "$parses" -eq 2 ] || { echo "a file and a --set were parsed $parses times"; exit 1; }
# A further start tells what changed: the configuration of the earlier one is read where its text is
# another one.
parses=$(run first)
[ "$parses" -eq 1 ] || { echo "the file was parsed $parses times by a further start"; exit 1; }
parses=$(run first --set logging.log_steps=2)
[ "$parses" -eq 4 ] || { echo "with another setting $parses texts were parsed"; exit 1; }
