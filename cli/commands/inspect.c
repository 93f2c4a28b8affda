/* `csengine inspect`: any tensor of any past step of a run, by replay, with the proof that it is
 * the run's. */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments/command_line.h"
#include "cli/arguments/confine.h"
#include "cli/arguments/option_values.h"
#include "cli/models/tensor_lines.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "run/travel/computed_values.h"
#include "run/travel/replay.h"
#include "run/travel/run_checkpoints.h"
#include "run/travel/tensor_file.h"
#include "run/travel/tensor_view.h"
#include "store/cursor.h"

enum { SHOWN_VALUES = 8, MOST_WATCHED = 100000 };

typedef struct question {
    const char *run, *pattern, *output;
    int64_t step, num_csx, values;
    int64_t microbatch, sample; /* -1: of all */
    bool computed;              /* of what the step computes, not of the states after it */
    int64_t first, last, every; /* of a series; last 0: none is asked for */
    bool json;
    const char **confinement; /* options of the replay's `csengine start`, ended by NULL */
} question;

/* ---- the answer ---- */

static void print_head(const question *q, const cse_replay *replay)
{
    char digits[2 * CSE_CHAIN_BYTES + 1] = "";
    if (replay->has_chain)
        sodium_bin2hex(digits, sizeof digits, replay->chain, CSE_CHAIN_BYTES);
    cse_print("%s, step %" PRId64 ": ", q->run, replay->step);
    if (replay->folder[0] == '\0')
        printf("its checkpoint\n");
    else if (replay->step == 0)
        printf("begun again\n");
    else
        cse_print("steps %" PRId64 " to %" PRId64 " done again\n", replay->from + 1, replay->step);
    cse_print("%s\n%s%s%s", replay->words.data, digits[0] != '\0' ? "chain " : "", digits,
              digits[0] != '\0' ? "\n" : "");
}

static json_t *head_json(const question *q, const cse_replay *replay)
{
    char digits[2 * CSE_CHAIN_BYTES + 1] = "";
    if (replay->has_chain)
        sodium_bin2hex(digits, sizeof digits, replay->chain, CSE_CHAIN_BYTES);
    return json_pack("{s:s, s:I, s:I, s:s, s:s, s:o}", "run", q->run, "step",
                     (json_int_t)replay->step, "from", (json_int_t)replay->from, "bits",
                     cse_replay_verdict_name(replay->verdict), "words", replay->words.data, "chain",
                     replay->has_chain ? json_string(digits) : json_null());
}

/* What was recorded of the step in a run store: losses, rates, ... */
static json_t *read_scalars(const char *model_dir, int64_t step)
{
    json_t *scalars = json_object();
    cse_store_reader *reader = NULL;
    if (cse_store_reader_open(model_dir, &reader) != CSE_OK)
        return scalars;
    static const char *const names[] = { "loss", "accuracy", "grad_norm", "perplexity" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cse_point point;
        const cse_end_points wanted = { .points = &point, .most = 1, .newest = true };
        if (cse_store_reader_end_points(reader, names[i], step + 1, &wanted) == 1 &&
            point.step == step)
            json_object_set_new(scalars, names[i], cse_json_finite(point.value));
    }
    cse_store_reader_close(&reader);
    return scalars;
}

static void show(const question *q, const cse_replay *replay, const cse_tensor_view *view)
{
    json_t *scalars =
        read_scalars(replay->folder[0] != '\0' ? replay->folder : q->run, replay->step);
    const char *name;
    json_t *value;
    if (q->json) {
        json_t *answer = head_json(q, replay), *tensors = json_array();
        for (int i = 0; i < view->count; i++)
            json_array_append_new(tensors, cse_tensor_json(&view->tensors[i], q->values));
        json_object_set(answer, "scalars", scalars);
        json_object_set_new(answer, "tensors", tensors);
        cse_json_print(answer);
        json_decref(answer);
    } else {
        print_head(q, replay);
        json_object_foreach(scalars, name, value)
            cse_print("%s %.9g\n", name, json_number_value(value));
        for (int i = 0; i < view->count && q->output == NULL; i++)
            cse_tensor_print(&view->tensors[i], q->values);
    }
    json_decref(scalars);
}

static cse_status no_tensor(const question *q, const cse_tensor_view *view)
{
    const cse_checkpoint *checkpoint = view->checkpoint;
    cse_text names = { 0 };
    for (int i = 0; i < checkpoint->tensor_count && i < 8; i++)
        cse_text_add(&names, "%s%s", i > 0 ? ", " : "", checkpoint->tensors[i].name);
    cse_status status =
        cse_fail(CSE_NO_INPUT, "no tensor of the step matches '%s'; there are %s%s", q->pattern,
                 names.data != NULL ? names.data : "none",
                 checkpoint->tensor_count > 8 ? ", ... (without --tensor: all)" : "");
    cse_text_clear(&names);
    return status;
}

/* Whether a state has such a name, as far as a checkpoint of the run tells. */
static bool matches_state(const question *q)
{
    char path[PATH_MAX];
    cse_run_chain chain = { .count = 0 };
    cse_tensor_view view;
    int64_t step = 0;
    bool matches = true;
    cse_tensor_view_begin(&view);
    if (cse_run_chain_read(q->run, 0, 0, &chain) == CSE_OK &&
        cse_run_checkpoint_before(q->run, &chain, INT64_MAX, &step)) {
        cse_checkpoint_path(q->run, step, path, sizeof path);
        matches = cse_tensor_view_load(&view, path, q->pattern) != CSE_OK || view.count > 0;
    }
    cse_tensor_view_clear(&view);
    cse_run_chain_clear(&chain);
    return matches;
}

static cse_status load(const question *q, const cse_replay *replay, cse_tensor_view *view)
{
    if (!q->computed) {
        CSE_TRY(cse_tensor_view_load(view, replay->checkpoint, q->pattern));
        return view->count > 0 ? CSE_OK : no_tensor(q, view);
    }
    cse_computed_values *values = NULL;
    cse_status status = cse_computed_values_open(replay->folder, q->step, &values);
    if (status == CSE_OK)
        status = cse_computed_values_add(
            values, (cse_computed_part){ .microbatch = q->microbatch, .sample = q->sample }, view);
    cse_computed_values_close(&values);
    return status;
}

static cse_status look(const question *q)
{
    cse_replay replay;
    cse_tensor_view view;
    const cse_replay_options options = { .model_dir = q->run,
                                         .step = q->step,
                                         .num_csx = (int)q->num_csx,
                                         .latest = INT64_MAX,
                                         .confinement = q->confinement,
                                         .values = !q->computed         ? NULL
                                                   : q->pattern != NULL ? q->pattern
                                                                        : ".*" };
    cse_tensor_view_begin(&view);
    cse_status status = cse_replay_run(&options, &replay);
    if (status == CSE_OK)
        status = load(q, &replay, &view);
    if (status == CSE_OK && q->output != NULL)
        status = cse_tensors_write(view.tensors, view.count, q->output);
    if (status == CSE_OK)
        show(q, &replay, &view);
    cse_tensor_view_clear(&view);
    if (status == CSE_OK && replay.verdict == CSE_REPLAY_OTHER)
        status = cse_fail(CSE_DATA, "step %" PRId64 ": what was computed is not what the run had",
                          q->step);
    cse_replay_clear(&replay);
    return status;
}

/* ---- a series ---- */

static cse_status print_step(const question *q, const cse_replay *replay, int64_t step)
{
    char path[PATH_MAX];
    cse_tensor_view view;
    cse_checkpoint_path(replay->folder, step, path, sizeof path);
    cse_tensor_view_begin(&view);
    cse_status status = cse_tensor_view_load(&view, path, q->pattern);
    if (status == CSE_OK && view.count == 0)
        status = no_tensor(q, &view);
    for (int i = 0; status == CSE_OK && i < view.count; i++) {
        if (!q->json) {
            cse_tensor_print_row(&view.tensors[i], step);
            continue;
        }
        json_t *row = cse_tensor_json(&view.tensors[i], 0);
        json_object_set_new(row, "step", json_integer(step));
        cse_json_print(row);
        json_decref(row);
    }
    cse_tensor_view_clear(&view);
    return status;
}

static cse_status watch(const question *q)
{
    cse_replay replay;
    const cse_replay_options options = { .model_dir = q->run,
                                         .step = q->last,
                                         .num_csx = (int)q->num_csx,
                                         .every = q->every,
                                         .confinement = q->confinement,
                                         .latest = q->first - 1 };
    cse_status status = cse_replay_run(&options, &replay);
    if (status == CSE_OK && !q->json)
        print_head(q, &replay);
    if (status == CSE_OK && q->json) {
        json_t *head = head_json(q, &replay);
        cse_json_print(head);
        json_decref(head);
    }
    for (int64_t step = q->first; status == CSE_OK && step <= q->last; step++)
        if (step % q->every == 0 || step == q->last)
            status = print_step(q, &replay, step);
    if (status == CSE_OK && replay.verdict == CSE_REPLAY_OTHER)
        status = cse_fail(CSE_DATA, "what was computed is not what the run had");
    cse_replay_clear(&replay);
    return status;
}

/* ---- the command ---- */

static cse_status read_steps(const cse_command_line *line, question *q)
{
    const char *text = cse_option_value(line, "steps");
    char rest = 0;
    if ((cse_option_value(line, "watch") != NULL) != (text != NULL))
        return cse_fail(CSE_USAGE, "inspect: --watch PATTERN and --steps A..B belong together");
    if (text == NULL)
        return CSE_OK;
    if (sscanf(text, "%" SCNd64 "..%" SCNd64 "%c", &q->first, &q->last, &rest) != 2 ||
        q->first < 1 || q->last < q->first || q->last - q->first > MOST_WATCHED)
        return cse_fail(CSE_USAGE,
                        "inspect: --steps %s: accepted are two steps, A..B, the first from 1, at "
                        "most %d steps later",
                        text, MOST_WATCHED);
    q->pattern = cse_option_value(line, "watch");
    return CSE_OK;
}

static cse_status read_question(const cse_command_line *line, question *q)
{
    static const int64_t steps[] = { 0, INT32_MAX }, replicas[] = { 1, 250 };
    static const int64_t numbers[] = { 0, INT64_MAX };
    static const int64_t values[] = { 0, 1000000000 }, every[] = { 1, INT32_MAX };
    CSE_TRY(cse_option_integer(line, "step", steps, &q->step));
    CSE_TRY(cse_option_integer(line, "num_csx", replicas, &q->num_csx));
    CSE_TRY(cse_option_integer(line, "values", values, &q->values));
    CSE_TRY(cse_option_integer(line, "every", every, &q->every));
    CSE_TRY(cse_option_integer(line, "microbatch", numbers, &q->microbatch));
    CSE_TRY(cse_option_integer(line, "sample", numbers, &q->sample));
    q->computed = cse_option_is_on(line, "computed") || q->microbatch >= 0 || q->sample >= 0;
    CSE_TRY(read_steps(line, q));
    if ((q->step >= 0) == (q->last > 0))
        return cse_fail(CSE_USAGE, "inspect: give either --step S, or --watch with --steps A..B");
    if (q->computed && q->step < 1)
        return cse_fail(CSE_USAGE, "inspect: --computed, --microbatch and --sample belong to a "
                                   "--step from 1: it is what that step computes");
    if (q->microbatch >= 0 && q->sample >= 0)
        return cse_fail(CSE_USAGE, "inspect: give --microbatch or --sample, not both");
    if (q->last > 0 && (q->output != NULL || cse_option_value(line, "tensor") != NULL))
        return cse_fail(CSE_USAGE, "inspect: --tensor and --output belong to --step");
    return CSE_OK;
}

/* The folder that the replay may write to is its own. */
static cse_status read_confinement(const cse_command_line *line, cse_arena *arena, question *q)
{
    static const cse_option table[] = { CSE_CONFINE_OPTIONS, { 0 } };
    int count = 0;
    q->confinement =
        cse_arena_alloc(arena, ((size_t)line->option_count + 1) * sizeof *q->confinement);
    for (int i = 0; i < line->option_count; i++)
        for (const cse_option *o = table; o->name != NULL; o++)
            if (strcmp(line->options[i].option->name, o->name) == 0)
                q->confinement[count++] =
                    o->argument != NULL
                        ? cse_arena_printf(arena, "--%s=%s", o->name, line->options[i].value)
                        : cse_arena_printf(arena, "--%s", o->name);
    q->confinement[count] = NULL;
    if (count == 0)
        q->confinement = NULL;
    if (count > 0 && !cse_option_is_on(line, "confine"))
        return cse_fail(CSE_USAGE, "inspect: %s has no effect without --confine",
                        q->confinement[0]);
    return CSE_OK;
}

static int run(const cse_command_line *line)
{
    cse_arena *arena = cse_arena_new();
    question q = { .run = line->arguments[0],
                   .pattern = cse_option_value(line, "tensor"),
                   .output = cse_option_value(line, "output"),
                   .step = -1,
                   .values = SHOWN_VALUES,
                   .every = 1,
                   .microbatch = -1,
                   .sample = -1,
                   .json = cse_option_is_on(line, "json") };
    cse_status status = read_question(line, &q);
    if (status == CSE_OK)
        status = read_confinement(line, arena, &q);
    if (status == CSE_OK && q.step > 0 && q.pattern != NULL && !q.computed)
        q.computed = !matches_state(&q);
    if (status == CSE_OK)
        status = q.last > 0 ? watch(&q) : look(&q);
    const int exit_code = cse_report(status);
    cse_arena_destroy(&arena);
    return exit_code;
}

static const cse_option options[] = {
    { "step", "S", NULL, "after so many steps; 0: before the first" },
    { "tensor", "PATTERN", NULL,
      "a name, an end of it behind a dot, or a regular expression of these; default: all" },
    { "computed", NULL, NULL,
      "of what the step computes: values, gradients; so, too, where no state has such a name" },
    { "microbatch", "M", NULL, "of what microbatch M of the step computes, from 0" },
    { "sample", "ID", NULL,
      "of what the step computes for this sample, by its number in the data" },
    { "values", "N", NULL, "shows so many values of each tensor; 8" },
    { "output", "FILE", NULL, "writes the tensors to FILE.npz or FILE.safetensors" },
    { "watch", "PATTERN", NULL, "a line for each of these tensors and each of --steps" },
    { "steps", "A..B", NULL, "with --watch: the steps" },
    { "every", "N", NULL, "with --watch: only steps that are multiples of N, and the last" },
    { "num_csx", "N", NULL, "processes that compute; default: as the run had" },
    { "confine", NULL, NULL,
      "restricts the replay to a folder of its own, and to the folders below" },
    CSE_CONFINED_OPTIONS,
    { "json", NULL, NULL, "one JSON object on stdout, with --watch one a line" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "inspect model_dir/a --step 700 --tensor fc_layers.0.weight", "a weight after step 700" },
    { "inspect model_dir/a --step 700 --output step_700.npz", "all of them, for NumPy" },
    { "inspect model_dir/a --step 700 --tensor '.*gradient' --microbatch 0",
      "gradients of the first microbatch of step 700" },
    { "inspect model_dir/a --watch '.*exp_avg_sq' --steps 600..700 --every 10",
      "a series of what was never logged" },
    { 0 },
};

const cse_command cse_command_inspect = {
    .name = "inspect",
    .group = CSE_GROUP_LOOK,
    .summary = "shows any tensor of any past step of a run, by replay",
    .arguments = "MODEL_DIR",
    .doc = "Does the run's steps again from its nearest checkpoint, in a folder of their own, and\n"
           "shows weights, states of the optimizer and scalars after the step, or what the step\n"
           "computes: any value of its forward and backward pass. The digests that\n"
           "the run has of each step say whether these are the run's bits, or what is other. Exit\n"
           "code 65: they are not.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .examples = examples,
    .computes = true,
    .run = run,
};
