/* The lines of a file go to parts by a hash of their number and the seed: the same for every run,
 * and a line that is added at the end moves no other. */
#include "cli/data/data_split.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments/option_values.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "csengine/input.h"
#include "engine/base/arena.h"
#include "engine/base/directory.h"
#include "engine/base/random.h"

enum { MOST_PARTS = 8, READ_BYTES = 1 << 20, SPLIT_STREAM = 0x73706c69 };

typedef struct splitting {
    FILE *files[MOST_PARTS];
    char paths[MOST_PARTS][PATH_MAX];
    double upper[MOST_PARTS]; /* shares, summed up to this part */
    int64_t lines[MOST_PARTS];
    int count;
    uint64_t seed;
} splitting;

static cse_status read_fractions(const cse_command_line *line, splitting *s)
{
    const char *given = cse_option_value(line, "fractions"),
               *text = given != NULL ? given : "0.9,0.1";
    double sum = 0;
    for (const char *at = text; s->count < MOST_PARTS; at++) {
        char *end;
        const double share = strtod(at, &end);
        if (end == at || !(share > 0) || share > 1e9 || (*end != ',' && *end != '\0'))
            break;
        s->upper[s->count++] = sum += share;
        at = end;
        if (*end == '\0') {
            for (int i = 0; i < s->count; i++)
                s->upper[i] /= sum;
            return CSE_OK;
        }
    }
    return cse_fail(CSE_USAGE,
                    "data split: --fractions %s: accepted are up to %d numbers above 0 with commas "
                    "between, as in 0.9,0.1",
                    text, MOST_PARTS);
}

static cse_status open_parts(const cse_command_line *line, splitting *s)
{
    static const char *const names[] = { "train", "validation", "test" };
    const char *to = cse_option_value(line, "to"), *path = line->arguments[1];
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const char *ending = strchr(name, '.');
    char plain[64];
    if (to == NULL)
        return cse_fail(CSE_USAGE, "data split: --to is missing: the folder to write to");
    CSE_TRY(cse_make_directories("--to", to));
    /* What is written is plain, whatever the input was. */
    snprintf(plain, sizeof plain, "%s", ending != NULL ? ending : "");
    for (const char *const *packed = (const char *const[]){ ".gz", ".zst", NULL }; *packed;
         packed++)
        if (strlen(plain) >= strlen(*packed) &&
            strcmp(plain + strlen(plain) - strlen(*packed), *packed) == 0)
            plain[strlen(plain) - strlen(*packed)] = '\0';
    for (int i = 0; i < s->count; i++) {
        if (i < 3)
            snprintf(s->paths[i], PATH_MAX, "%s/%s%s", to, names[i], plain);
        else
            snprintf(s->paths[i], PATH_MAX, "%s/part%d%s", to, i, plain);
        s->files[i] = fopen(s->paths[i], "wbxe");
        if (s->files[i] == NULL)
            return cse_fail(CSE_CANNOT_CREATE, "%s: %s", s->paths[i], strerror(errno));
    }
    return CSE_OK;
}

static int part_of(const splitting *s, int64_t number)
{
    const uint32_t counter[4] = { (uint32_t)number, (uint32_t)((uint64_t)number >> 32),
                                  SPLIT_STREAM, 0 };
    uint32_t words[4];
    cse_philox(s->seed, counter, words);
    const double place = (double)words[0] / 4294967296.0;
    int part = 0;
    while (part + 1 < s->count && place >= s->upper[part])
        part++;
    return part;
}

/* Lines are copied as they come, in pieces, so that none needs to fit into memory. */
static cse_status copy_lines(cse_byte_source *source, splitting *s)
{
    char *buffer = cse_malloc(READ_BYTES);
    int64_t number = 0;
    size_t got = READ_BYTES;
    bool within = false;
    cse_status status = CSE_OK;
    while (got == READ_BYTES && status == CSE_OK) {
        status = cse_byte_source_read(source, buffer, READ_BYTES, &got);
        for (size_t i = 0; i < got && status == CSE_OK;) {
            const char *stop = memchr(buffer + i, '\n', got - i);
            const size_t size = stop != NULL ? (size_t)(stop + 1 - buffer) - i : got - i;
            const int part = part_of(s, number);
            s->lines[part] += !within;
            within = stop == NULL;
            number += stop != NULL;
            if (fwrite(buffer + i, 1, size, s->files[part]) != size)
                status =
                    cse_fail(CSE_IO, "%s: writing failed: %s", s->paths[part], strerror(errno));
            i += size;
        }
    }
    free(buffer);
    return status;
}

static cse_status split(const cse_command_line *line, splitting *s)
{
    static const int64_t seeds[] = { 0, INT64_MAX };
    int64_t seed = 0;
    cse_byte_source *source = NULL;
    if (line->argument_count != 2)
        return cse_fail(CSE_USAGE, "data split: takes one file");
    CSE_TRY(cse_option_integer(line, "seed", seeds, &seed));
    CSE_TRY(read_fractions(line, s));
    s->seed = (uint64_t)seed;
    CSE_TRY(cse_byte_source_open(line->arguments[1], &source));
    cse_status status = open_parts(line, s);
    if (status == CSE_OK)
        status = copy_lines(source, s);
    cse_byte_source_close(&source);
    return status;
}

int cse_data_split(const cse_command_line *line)
{
    splitting *s = cse_calloc(1, sizeof *s);
    cse_status status = split(line, s);
    json_t *parts = json_array();
    for (int i = 0; i < s->count && s->files[i] != NULL; i++) {
        if (fclose(s->files[i]) != 0 && status == CSE_OK)
            status = cse_fail(CSE_IO, "%s: writing failed: %s", s->paths[i], strerror(errno));
        if (status != CSE_OK)
            remove(s->paths[i]);
        json_array_append_new(
            parts, json_pack("{s:s, s:I}", "file", s->paths[i], "lines", (json_int_t)s->lines[i]));
    }
    for (int i = 0; i < s->count && status == CSE_OK && !cse_option_is_on(line, "json"); i++)
        cse_print("%s: %lld lines\n", s->paths[i], (long long)s->lines[i]);
    if (status == CSE_OK && cse_option_is_on(line, "json"))
        cse_json_print(parts);
    json_decref(parts);
    free(s);
    return status == CSE_OK ? 0 : cse_report(status);
}
