/* Samples of command, with independent values. */
#include "tests/samples/samples.h"

/* A shell script that answers: x [2] of the sample's number and its double. */
#define SCRIPT(count)                                                                             \
    "byte() { printf \"\\\\$(($1 / 64))$(($1 / 8 % 8))$(($1 % 8))\"; }\n"                         \
    "length() { byte $(($1 % 256)); byte $(($1 / 256)); printf '\\0\\0\\0\\0\\0\\0'; }\n"         \
    "while read -r line; do\n"                                                                    \
    "    list=${line#*\\[}; IFS=,; set -- ${list%%\\]*}; unset IFS\n"                             \
    "    header='{\"__metadata__\":{\"sample_count\":\"" count "\"},\"x\":{\"dtype\":\"I32\",'\n" \
    "    header=$header'\"shape\":['$#',2],\"data_offsets\":[0,'$(($# * 8))']}}'\n"               \
    "    length $((8 + ${#header} + $# * 8)); length ${#header}; printf %s \"$header\"\n"         \
    "    for i; do\n"                                                                             \
    "        byte $i; printf '\\0\\0\\0'; byte $((2 * i)); printf '\\0\\0\\0'\n"                  \
    "    done\n"                                                                                  \
    "done\n"

static const cse_input_sample samples[] = {
    { .settings = "command: [sh, $folder/answer.sh]",
      .source = "by hand",
      .files = { { .name = "answer.sh", .text = SCRIPT("12") } },
      .sample_count = 12,
      .value_count = 3,
      .values = { { 0, 0, 1, 0 }, { 0, 7, 0, 7 }, { 0, 11, 1, 22 } } },
    { .settings = "command: [sh, $folder/answer.sh], sample_count: 12, streams: [x int32 2]",
      .source = "by hand",
      .files = { { .name = "answer.sh", .text = SCRIPT("none") } },
      .sample_count = 12,
      .value_count = 2,
      .values = { { 0, 7, 0, 7 }, { 0, 11, 1, 22 } } },
    { .settings = "command: [none], sample_count: 12, streams: [x int64 2]",
      .refusal = "is no stream: accepted are a name, float32 or int32" },
    { .settings = "command: [none], sample_count: 12, streams: [x int32 2 -1]",
      .refusal = "is no stream" },
    { .settings = "command: [sh, $folder/answer.sh]",
      .refusal = "sample_count",
      .files = { { .name = "answer.sh", .text = SCRIPT("none") } } },
    { .settings = "command: [sh, -c, exit 3]", .refusal = "it ended with exit code 3, twice" },
    { .settings = "command: [sh, -c, \"kill -9 $$\"]", .refusal = "signal 9, twice" },
    { .settings = "command: [echo, this is no answer]", .refusal = "does it print something else" },
    { .settings = "command: [$folder/none]", .refusal = "cannot be started" },
    { .settings = "command: []", .refusal = "command is empty" },
    { .settings = NULL },
};

CSE_SAMPLES(input, command, samples);
