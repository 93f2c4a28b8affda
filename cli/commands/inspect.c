/* `csengine inspect`: any tensor of any past step of a run, by replay, with the proof that it is
 * the run's. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments/command_line.h"
#include "cli/arguments/confine.h"
#include "cli/arguments/kept_states_option.h"
#include "cli/arguments/option_values.h"
#include "cli/models/tensor_lines.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "engine/base/directory.h"
#include "engine/base/types/shape.h"
#include "run/travel/computed_values.h"
#include "run/travel/replay.h"
#include "run/travel/run_checkpoints.h"
#include "run/travel/tensor_file.h"
#include "run/travel/tensor_view.h"
#include "store/cursor.h"

enum { SHOWN_VALUES = 8, MOST_WATCHED = 100000 };

/* A step may compute values of so many times --most_bytes: most of its nodes are not kept. */
enum { NODES_FOR_A_VALUE = 8 };

typedef struct question {
    const char *run, *pattern, *output;
    cse_kept_states kept;
    const char *compile_dir; /* absolute; NULL: as the replay chooses */
    int64_t step, num_csx, values;
    int64_t microbatch, sample; /* -1: of all */
    bool computed;              /* of what the step computes, not of the states after it */
    bool all;                   /* of both */
    int64_t most_bytes;         /* of the values of all tensors; 0: any */
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
        cse_print("steps %" PRId64 " to %" PRId64 " done again%s\n", replay->from + 1, replay->step,
                  replay->from_kept ? ", from states that an earlier replay left" : "");
    cse_print("%s\n%s%s%s", replay->words.data, digits[0] != '\0' ? "chain " : "", digits,
              digits[0] != '\0' ? "\n" : "");
}

static json_t *head_json(const question *q, const cse_replay *replay)
{
    char digits[2 * CSE_CHAIN_BYTES + 1] = "";
    if (replay->has_chain)
        sodium_bin2hex(digits, sizeof digits, replay->chain, CSE_CHAIN_BYTES);
    return json_pack("{s:s, s:I, s:I, s:b, s:s, s:s, s:o}", "run", q->run, "step",
                     (json_int_t)replay->step, "from", (json_int_t)replay->from, "from_kept",
                     replay->from_kept, "bits", cse_replay_verdict_name(replay->verdict), "words",
                     replay->words.data, "chain",
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

/* How a client may cut the tensors: which samples their rows are, and of which microbatches. */
static void add_batch(json_t *answer, const cse_computed_values *values)
{
    const cse_step_samples *samples = cse_computed_values_samples(values);
    json_t *numbers = json_array();
    for (int64_t i = 0; i < samples->count; i++)
        json_array_append_new(numbers, json_integer(samples->numbers[i]));
    json_object_set_new(answer, "samples", numbers);
    json_object_set_new(answer, "microbatches",
                        json_integer(cse_computed_values_microbatches(values)));
}

static json_t *tensor_json(const question *q, const cse_computed_values *values,
                           const cse_checkpoint_tensor *tensor)
{
    json_t *shown = cse_tensor_json(tensor, q->values);
    cse_computed_facts facts;
    const bool computed = values != NULL && cse_computed_values_facts(values, tensor, &facts);
    const bool moment = strncmp(tensor->name, "optimizer.", 10) == 0;
    json_object_set_new(shown, "role",
                        json_string(computed ? facts.role
                                    : moment ? "optimizer"
                                             : "state"));
    json_object_set_new(shown, "format",
                        json_string(cse_dtype_name(computed ? facts.format : tensor->dtype)));
    if (computed) {
        json_object_set_new(shown, "op", json_string(facts.op));
        json_object_set_new(shown, "backward", json_boolean(facts.backward));
        json_object_set_new(shown, "rows", json_string(facts.rows));
    }
    if (computed && facts.beside)
        json_object_set_new(shown, "beside_within", cse_json_finite(facts.within));
    return shown;
}

static void print_tensor(const question *q, const cse_computed_values *values,
                         const cse_checkpoint_tensor *tensor)
{
    cse_computed_facts facts;
    if (q->output == NULL)
        cse_tensor_print(tensor, q->values);
    if (values != NULL && cse_computed_values_facts(values, tensor, &facts) && facts.beside)
        cse_print(
            "  %s: computed beside the run, whose kernel stores no such values, from the same "
            "inputs; the output that follows from them is within %.3g of the kernel's, in "
            "parts of its largest element\n",
            tensor->name, facts.within);
}

static void show(const question *q, const cse_replay *replay, const cse_tensor_view *view,
                 const cse_computed_values *values)
{
    json_t *scalars =
        read_scalars(replay->folder[0] != '\0' ? replay->folder : q->run, replay->step);
    const char *name;
    json_t *value;
    if (q->json) {
        json_t *answer = head_json(q, replay), *tensors = json_array();
        for (int i = 0; i < view->count; i++)
            json_array_append_new(tensors, tensor_json(q, values, &view->tensors[i]));
        json_object_set(answer, "scalars", scalars);
        if (values != NULL)
            add_batch(answer, values);
        json_object_set_new(answer, "tensors", tensors);
        cse_json_print(answer);
        json_decref(answer);
    } else {
        print_head(q, replay);
        json_object_foreach(scalars, name, value)
            cse_print("%s %.9g\n", name, json_number_value(value));
        for (int i = 0; i < view->count; i++)
            print_tensor(q, values, &view->tensors[i]);
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

/* `*values` stays open, for what is told of them. */
static cse_status load(const question *q, const cse_replay *replay, cse_tensor_view *view,
                       cse_computed_values **values)
{
    if (q->all || !q->computed)
        CSE_TRY(cse_tensor_view_load(view, replay->checkpoint, q->pattern));
    if (q->computed) {
        CSE_TRY(cse_computed_values_open(replay->folder, q->step, values));
        CSE_TRY(cse_computed_values_add(
            *values, (cse_computed_part){ .microbatch = q->microbatch, .sample = q->sample },
            view));
    }
    return view->count > 0 ? CSE_OK : no_tensor(q, view);
}

/* ---- how much there is ---- */

static cse_status too_much(const question *q, int64_t bytes, const char *whose)
{
    return cse_fail(CSE_UNAVAILABLE,
                    "%s take %" PRId64 " bytes, and at most %" PRId64
                    " are allowed (most_bytes): choose fewer tensors by their names (tensor: "
                    "PATTERN)",
                    whose, bytes, q->most_bytes);
}

/* Before the step is done again for all that it computes, which is written to a disk: by the run's
 * graph, as far as it can be read. */
static cse_status check_before(const question *q)
{
    cse_graph *graph = NULL;
    int64_t bytes = 0;
    if (q->most_bytes == 0 || !q->computed || q->pattern != NULL ||
        cse_replay_graph(q->run, &graph) != CSE_OK)
        return CSE_OK;
    for (int i = 0; i < graph->node_count; i++)
        if (graph->nodes[i]->batch && cse_dtype_is_float(graph->nodes[i]->dtype))
            bytes += cse_shape_elements(graph->nodes[i]->shape) * 4 * graph->microbatch_count;
    cse_graph_destroy(&graph);
    return bytes / NODES_FOR_A_VALUE <= q->most_bytes
               ? CSE_OK
               : too_much(q, bytes, "all values of the step's nodes");
}

static cse_status check_after(const question *q, const cse_tensor_view *view)
{
    int64_t bytes = 0;
    for (int i = 0; i < view->count; i++)
        bytes += cse_shape_elements(view->tensors[i].shape) *
                 (int64_t)cse_dtype_size(view->tensors[i].dtype);
    return q->most_bytes == 0 || bytes <= q->most_bytes ? CSE_OK
                                                        : too_much(q, bytes, "these tensors");
}

/* ---- one step ---- */

static cse_status do_replay(question *q, cse_replay *replay)
{
    cse_replay_options options = { .model_dir = q->run,
                                   .step = q->step,
                                   .num_csx = (int)q->num_csx,
                                   .latest = INT64_MAX,
                                   .kept = q->kept,
                                   .compile_dir = q->compile_dir,
                                   .confinement = q->confinement,
                                   .values = !q->computed         ? NULL
                                             : q->pattern != NULL ? q->pattern
                                                                  : ".*" };
    cse_status status = cse_replay_run(&options, replay);
    if (status != CSE_NO_INPUT || !q->all || !q->computed || q->pattern == NULL ||
        !matches_state(q))
        return status;
    cse_replay_clear(replay);
    q->computed = false; /* only states have such names */
    options.values = NULL;
    return cse_replay_run(&options, replay);
}

static cse_status look(question *q)
{
    cse_replay replay = { .step = q->step };
    cse_tensor_view view;
    cse_computed_values *values = NULL;
    cse_tensor_view_begin(&view);
    cse_status status = check_before(q);
    if (status == CSE_OK)
        status = do_replay(q, &replay);
    if (status == CSE_OK)
        status = load(q, &replay, &view, &values);
    if (status == CSE_OK)
        status = check_after(q, &view);
    if (status == CSE_OK && q->output != NULL)
        status = cse_tensors_write(view.tensors, view.count, q->output);
    if (status == CSE_OK)
        show(q, &replay, &view, values);
    cse_computed_values_close(&values);
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
                                         .kept = q->kept,
                                         .compile_dir = q->compile_dir,
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
    CSE_TRY(cse_option_integer(line, "most_bytes", numbers, &q->most_bytes));
    q->computed = cse_option_is_on(line, "computed") || q->microbatch >= 0 || q->sample >= 0;
    if (q->all && (q->computed || cse_option_value(line, "watch") != NULL))
        return cse_fail(CSE_USAGE, "inspect: --all is of whole states and whole batches of a "
                                   "--step: without --computed, --microbatch, --sample, --watch");
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

/* The replay starts in the folder of the run's configuration, so that the path is absolute. */
static cse_status read_compile_dir(const cse_command_line *line, cse_arena *arena, question *q)
{
    char whole[PATH_MAX];
    const char *given = cse_option_value(line, "compile_dir");
    if (given == NULL)
        return CSE_OK;
    CSE_TRY(cse_make_directories("compile_dir", given));
    if (realpath(given, whole) == NULL)
        return cse_fail(CSE_CANNOT_CREATE, "compile_dir: %s: %s", given, strerror(errno));
    q->compile_dir = cse_arena_string(arena, whole);
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
                   .all = cse_option_is_on(line, "all"),
                   .json = cse_option_is_on(line, "json") };
    cse_status status = read_question(line, &q);
    if (status == CSE_OK)
        status = cse_confine_words(line, arena, &q.confinement);
    if (status == CSE_OK)
        status = read_compile_dir(line, arena, &q);
    if (status == CSE_OK)
        status = cse_option_kept_states(line, q.run, arena, &q.kept);
    if (status == CSE_OK && q.all)
        q.computed = q.step > 0;
    else if (status == CSE_OK && q.step > 0 && q.pattern != NULL && !q.computed)
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
    { "all", NULL, NULL, "of its states and of what it computes" },
    { "microbatch", "M", NULL, "of what microbatch M of the step computes, from 0" },
    { "sample", "ID", NULL,
      "of what the step computes for this sample, by its number in the data" },
    { "values", "N", NULL, "shows so many values of each tensor; 8" },
    { "output", "FILE", NULL, "writes the tensors to FILE.npz or FILE.safetensors" },
    { "most_bytes", "N", NULL, "fails where the values of these tensors take more; 0: any" },
    { "watch", "PATTERN", NULL, "a line for each of these tensors and each of --steps" },
    { "steps", "A..B", NULL, "with --watch: the steps" },
    { "every", "N", NULL, "with --watch: only steps that are multiples of N, and the last" },
    { "compile_dir", "DIR", NULL,
      "compiled steps of the replay lie there; default: where those of the run do" },
    CSE_KEPT_STATES_OPTION,
    CSE_STATES_DIR_OPTION,
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
