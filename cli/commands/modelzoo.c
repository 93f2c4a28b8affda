/* `csengine modelzoo`: which configurations of a checkout of the ModelZoo start, and what is
 * missing for the others. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/arguments/command_line.h"
#include "cli/arguments/option_values.h"
#include "cli/runs/training_files.h"
#include "cli/runs/validated_file.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "engine/base/directory.h"

enum { CAUSE_BYTES = 160, MOST_SECONDS = 300 };

typedef struct cause {
    char text[CAUSE_BYTES];
    int files, last; /* how many have it, and the last one */
} cause;

typedef struct listing {
    const char *checkout;
    bool json;
    int passed;
    cause *causes;
    int cause_count, cause_capacity;
    json_t *rows;
} listing;

/* The message up to what differs from file to file. */
static void count_cause(listing *l, const char *message, int file)
{
    char text[CAUSE_BYTES];
    const size_t length = strcspn(message, ";(");
    snprintf(text, sizeof text, "%.*s", (int)(length < CAUSE_BYTES - 1 ? length : CAUSE_BYTES - 1),
             message);
    for (size_t end = strlen(text); end > 0 && strchr(" :,", text[end - 1]) != NULL;)
        text[--end] = '\0';
    int i = 0;
    while (i < l->cause_count && strcmp(l->causes[i].text, text) != 0)
        i++;
    if (i == l->cause_count) {
        CSE_GROW(l->causes, l->cause_count, l->cause_capacity);
        l->causes[l->cause_count] = (cause){ .last = -1 };
        snprintf(l->causes[l->cause_count++].text, sizeof text, "%s", text);
    }
    l->causes[i].files += l->causes[i].last != file;
    l->causes[i].last = file;
}

static void print_missing(const json_t *entry)
{
    const int64_t line = cse_json_whole(entry, "line", 0);
    const char *message = cse_json_text(entry, "message", "");
    if (line > 0)
        cse_print("              %lld:%lld: %s\n", (long long)line,
                  (long long)cse_json_whole(entry, "column", 0), message);
    else
        cse_print("              %s\n", message);
}

static void take_result(listing *l, const char *path, int file, const cse_validated_file *result)
{
    const char *name = path + strlen(l->checkout);
    name += strspn(name, "/");
    l->passed += result->passes;
    for (size_t i = 0; !result->passes && i < json_array_size(result->missing); i++)
        count_cause(l, cse_json_text(json_array_get(result->missing, i), "message", ""), file);
    if (l->json) {
        json_array_append_new(l->rows, json_pack("{s:s, s:b, s:f, s:O}", "configuration", name,
                                                 "passes", result->passes, "seconds",
                                                 result->seconds, "missing", result->missing));
        return;
    }
    cse_print("%s  %6.2f s  %s\n", result->passes ? "pass" : "FAIL", result->seconds, name);
    for (size_t i = 0; !result->passes && i < json_array_size(result->missing); i++)
        print_missing(json_array_get(result->missing, i));
    fflush(stdout);
}

static int by_files(const void *a, const void *b)
{
    const cause *x = a, *y = b;
    return x->files != y->files ? y->files - x->files : strcmp(x->text, y->text);
}

static void print_summary(listing *l, int count)
{
    if (l->cause_count > 0)
        qsort(l->causes, (size_t)l->cause_count, sizeof *l->causes, by_files);
    if (l->json) {
        json_t *causes = json_array();
        for (int i = 0; i < l->cause_count; i++)
            json_array_append_new(causes, json_pack("{s:s, s:i}", "cause", l->causes[i].text,
                                                    "configurations", l->causes[i].files));
        json_t *all =
            json_pack("{s:s, s:i, s:i, s:O, s:o}", "checkout", l->checkout, "passed", l->passed,
                      "total", count, "configurations", l->rows, "causes", causes);
        cse_json_print(all);
        json_decref(all);
        return;
    }
    printf("\n%d of %d configurations pass\n", l->passed, count);
    for (int i = 0; i < l->cause_count; i++)
        cse_print("%5d  %s\n", l->causes[i].files, l->causes[i].text);
}

/* What "$MODELZOO_ROOT" in configurations stands for, unless the environment says it. */
static void set_root(const char *checkout)
{
    struct stat info;
    char root[PATH_MAX];
    const int length = snprintf(root, sizeof root, "%s/src/cerebras/modelzoo", checkout);
    if (length < (int)sizeof root && stat(root, &info) == 0 && S_ISDIR(info.st_mode))
        setenv("MODELZOO_ROOT", root, 0);
}

static cse_status validate_all(listing *l, const cse_training_files *files)
{
    char folder[] = "/tmp/csengine-modelzoo-XXXXXX";
    cse_status status = CSE_OK;
    if (mkdtemp(folder) == NULL)
        return cse_fail(CSE_CANNOT_CREATE, "%s cannot be made", folder);
    for (int i = 0; i < files->count && status == CSE_OK; i++) {
        cse_validated_file result = { .missing = NULL };
        status = cse_validate_file(files->paths[i], folder, MOST_SECONDS, &result);
        if (status == CSE_OK)
            take_result(l, files->paths[i], i, &result);
        json_decref(result.missing);
    }
    cse_remove_tree(folder);
    return status;
}

static int run(const cse_command_line *line)
{
    cse_training_files files = { 0 };
    listing l = { .checkout = line->arguments[0],
                  .json = cse_option_is_on(line, "json"),
                  .rows = json_array() };
    cse_status status = cse_training_files_find(l.checkout, &files);
    if (status == CSE_OK) {
        set_root(l.checkout);
        status = validate_all(&l, &files);
    }
    if (status == CSE_OK)
        print_summary(&l, files.count);
    json_decref(l.rows);
    free(l.causes);
    cse_training_files_clear(&files);
    return cse_report(status);
}

static const cse_option options[] = {
    { "json", NULL, NULL, "one JSON object on stdout" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "modelzoo ~/modelzoo", "each configuration of a checkout, with a verdict" },
    { "modelzoo ~/modelzoo/src/cerebras/modelzoo/models/nlp/llama", "those of one model" },
    { 0 },
};

const cse_command cse_command_modelzoo = {
    .name = "modelzoo",
    .group = CSE_GROUP_MEASURE,
    .summary = "says which configurations of a ModelZoo checkout start",
    .arguments = "CHECKOUT",
    .doc = "Finds each YAML file with the key trainer below the folder and validates it as\n"
           "`start --validate_only` does, in a process of its own, with nothing changed in it.\n"
           "Prints the verdict, the time and, where it fails, all that is missing with its place;\n"
           "at the end the causes, by the number of configurations. The data need not be there:\n"
           "samples are taken to be as the settings say. Nothing is trained.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .examples = examples,
    .computes = true,
    .run = run,
};
