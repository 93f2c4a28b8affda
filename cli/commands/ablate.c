/* `csengine ablate`: several forks of a run beside its own future (cli/sweep/ablation.h). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments/command_line.h"
#include "cli/arguments/option_values.h"
#include "cli/sweep/ablation_table.h"
#include "cli/sweep/sweep_child.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"

static void show_begin(const cse_ablation_variant *variant)
{
    cse_print_to(stderr, "variant %s", variant->name);
    for (int i = 0; variant->settings[i] != NULL; i++)
        cse_print_to(stderr, ", %s", variant->settings[i]);
    fprintf(stderr, "\n");
}

/* "a,b" of all times that an option was given, ended by NULL; NULL: it was not given. */
static const char **words_of(const cse_command_line *line, const char *option, cse_arena *arena)
{
    const char **given = cse_option_all_values(line, option), **words = NULL;
    int count = 0;
    size_t most = 1;
    for (int i = 0; given != NULL && given[i] != NULL; i++)
        most += strlen(given[i]) + 1;
    words = cse_arena_alloc(arena, most * sizeof *words);
    for (int i = 0; given != NULL && given[i] != NULL; i++)
        for (const char *at = given[i];; at += strcspn(at, ",") + 1) {
            const size_t length = strcspn(at, ",");
            if (length > 0)
                words[count++] = cse_arena_printf(arena, "%.*s", (int)length, at);
            if (at[length] == '\0')
                break;
        }
    words[count] = NULL;
    free(given);
    return count > 0 ? words : NULL;
}

static cse_status read_line(const cse_command_line *line, cse_ablation *a)
{
    static const int64_t steps[] = { 1, INT32_MAX }, replicas[] = { 1, 250 };
    static const char *none[] = { NULL };
    const char **files = words_of(line, "each", a->arena);
    a->run = line->arguments[0];
    a->folder = cse_option_value(line, "model_dir");
    CSE_TRY(cse_option_integer(line, "at", steps, &a->at));
    CSE_TRY(cse_option_integer(line, "max_steps", steps, &a->end));
    CSE_TRY(cse_option_integer(line, "num_csx", replicas, &a->num_csx));
    if (a->at == 0 || files == NULL || a->folder == NULL)
        return cse_fail(CSE_USAGE, "ablate: needs --at STEP, --each FILE.yaml,... and --model_dir "
                                   "DIR, the folder of the new runs");
    const char **settings = cse_option_all_values(line, "set");
    a->settings = none;
    if (settings != NULL) {
        int count = 0;
        while (settings[count] != NULL)
            count++;
        a->settings = cse_arena_alloc(a->arena, ((size_t)count + 1) * sizeof *a->settings);
        for (int i = 0; i <= count; i++)
            a->settings[i] = settings[i];
    }
    free(settings);
    return cse_ablation_plan(a, files);
}

static cse_status check_any(const cse_ablation *a)
{
    for (int i = 1; i < a->count; i++)
        if (a->variants[i].failure == NULL)
            return CSE_OK;
    return cse_fail(CSE_FAILED, "ablate: all variants failed; the first: %s",
                    a->variants[1].failure);
}

static cse_status ablate(const cse_command_line *line, cse_arena *arena)
{
    cse_ablation a = { .arena = arena };
    cse_ablation_table table;
    const bool json = cse_option_is_on(line, "json");
    if (!json && !cse_option_is_on(line, "quiet"))
        a.on_begin = show_begin;
    CSE_TRY(read_line(line, &a));
    cse_sweep_take_signals();
    CSE_TRY(cse_ablation_run(&a));
    CSE_TRY(check_any(&a));
    CSE_TRY(cse_ablation_table_read(&a, words_of(line, "metrics", arena), &table));
    if (json) {
        json_t *whole = cse_ablation_table_json(&table);
        cse_json_print(whole);
        json_decref(whole);
    } else {
        cse_ablation_table_show(&table);
    }
    return CSE_OK;
}

static int run(const cse_command_line *line)
{
    cse_arena *arena = cse_arena_new();
    const int exit_code = cse_report(ablate(line, arena));
    cse_arena_destroy(&arena);
    return exit_code;
}

static const cse_option options[] = {
    { "at", "STEP", NULL, "the last step that all runs share" },
    { "each", "FILE,FILE", NULL,
      "a variant each: a mapping {PATH: VALUE} of the settings that it changes, as in --set" },
    { "model_dir", "DIR", NULL, "the folder of the new runs: DIR/NAME of NAME.yaml" },
    { "set", "PATH=VALUE", NULL, "changes any setting of all of them, the unchanged one included" },
    { "max_steps", "N", NULL, "the last step of all of them; default: as the configuration says" },
    { "num_csx", "N", NULL, "processes that compute; default: as the run had" },
    { "metrics", "NAME,NAME", NULL,
      "series that are compared; default: the loss, and what validations measure" },
    { "json", NULL, NULL, "one JSON object on stdout" },
    { "quiet", NULL, NULL, "prints only the table" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "ablate model_dir/a --at 700 --each low.yaml,frozen.yaml --model_dir model_dir/ablations",
      "two runs that change their settings after step 700, beside what the run did itself" },
    { 0 },
};

static const cse_command_note files[] = {
    { "DIR/ablation.json", "what the ablation is; the same command goes on with it" },
    { "DIR/NAME", "model_dir of a variant" },
    { 0 },
};

const cse_command cse_command_ablate = {
    .name = "ablate",
    .group = CSE_GROUP_MEASURE,
    .summary = "forks a run with several changes, and compares what becomes of them",
    .arguments = "MODEL_DIR",
    .doc = "Each variant is a `csengine fork` at the step, one after the other. What they are\n"
           "compared with is the run's own future, where it has ended and --set changes nothing\n"
           "for all; else it is a fork as well, without a change. A variant that fails is a row\n"
           "of the table. The same command goes on with what is not complete.",
    .options = options,
    .letters = "q=quiet",
    .min_arguments = 1,
    .max_arguments = 1,
    .examples = examples,
    .files = files,
    .run = run,
};
