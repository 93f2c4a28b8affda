/* Digests of all tensors name the node without keeping any value; only its own values are then kept
 * whole. */
#include "run/travel/first_value.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/types/shape.h"
#include "engine/code/execute/execute.h"
#include "run/measure/run_comparison.h"
#include "run/travel/computed_values.h"
#include "run/travel/value_pairs.h"
#include "store/cursor.h"

enum { RUNS = CSE_FIRST_VALUE_RUNS };

const char *const *cse_first_value_settings(cse_arena *arena, int64_t step)
{
    const char **settings = cse_arena_alloc(arena, 5 * sizeof *settings);
    settings[0] = "checkpoint.save_initial_checkpoint=true";
    settings[1] = cse_arena_printf(arena, "numerics.every=%" PRId64, step);
    settings[2] = "numerics.tensors=['*']";
    settings[3] = "states.keep_in=memory"; /* as statistics need them */
    settings[4] = NULL;
    return settings;
}

/* ---- what it was computed from ---- */

static const cse_tracked_tensor *find_row(const cse_graph *graph, const char *name)
{
    for (int t = 0; t < graph->tracked_count; t++)
        if (strcmp(graph->tracked[t].name, name) == 0)
            return &graph->tracked[t];
    return NULL;
}

/* Nodes that keep no value of their own are looked through. Values and states come before the node
 * in the order of execution, so that their digests were compared, and are equal. */
static void add_inputs(const cse_graph *graph, const cse_node *node, cse_arena *arena,
                       cse_first_value *value)
{
    for (int i = 0; i < node->input_count; i++) {
        const cse_node *input = cse_node_storage(node->inputs[i]);
        const bool state = input->op == &cse_op_state;
        const char *name = state ? graph->states[input->attributes.integers[0]].name
                           : input->op == &cse_op_input
                               ? graph->inputs[input->attributes.integers[0]].name
                           : input->tracked > 0 ? graph->tracked[input->tracked - 1].name
                                                : NULL;
        if (name == NULL) {
            if (!cse_node_is_leaf(input))
                add_inputs(graph, input, arena, value);
            continue;
        }
        for (int k = 0; name != NULL && k < value->input_count; k++)
            if (strcmp(value->inputs[k].name, name) == 0)
                name = NULL;
        if (name != NULL && value->input_count < CSE_MOST_FIRST_INPUTS)
            value->inputs[value->input_count++] = (cse_first_input){
                .name = cse_arena_string(arena, name),
                .equal = input->op != &cse_op_input,
            };
    }
}

/* True: its values were computed, so that they can be kept. */
static bool note_inputs(const cse_graph *graph, cse_arena *arena, cse_first_value *value)
{
    const cse_tracked_tensor *row = find_row(graph, value->name);
    value->updates = row == NULL || row->kind == CSE_TRACKED_STATE;
    value->of_step = row != NULL && row->kind != CSE_TRACKED_GRADIENT && !row->node->batch;
    const bool computed = row != NULL && row->kind != CSE_TRACKED_STATE;
    if (computed)
        add_inputs(graph, row->node, arena, value);
    return computed;
}

/* ---- which element ---- */

const char *cse_exact_pattern(cse_arena *arena, const char *name)
{
    cse_text out = { 0 };
    for (; *name != '\0'; name++)
        cse_text_add(&out, "%s%c", strchr("\\^$.|?*+()[]{}", *name) != NULL ? "\\" : "", *name);
    const char *kept = cse_arena_string(arena, out.data);
    cse_text_clear(&out);
    return kept;
}

static void compare_tensors(const cse_checkpoint_tensor *const tensors[RUNS],
                            cse_first_value *value)
{
    const float *a = tensors[0]->data, *b = tensors[1]->data;
    const int64_t count = cse_shape_elements(tensors[0]->shape);
    for (int64_t i = 0; i < count; i++) {
        if (memcmp(&a[i], &b[i], sizeof *a) == 0)
            continue;
        if (value->elements++ == 0) {
            value->first = i;
            value->values[0] = a[i];
            value->values[1] = b[i];
        }
        const double difference = fabs((double)a[i] - b[i]);
        if (!(difference <= value->largest)) /* a NaN is larger than anything */
            value->largest = difference;
    }
    value->located = value->elements > 0;
    value->shape = tensors[0]->shape;
}

static const cse_checkpoint_tensor *find_tensor(const cse_tensor_view *view, const char *name)
{
    for (int i = 0; i < view->count; i++)
        if (strcmp(view->tensors[i].name, name) == 0)
            return &view->tensors[i];
    return NULL;
}

/* Of one microbatch; -1: of the step. */
static cse_status compare_microbatch(cse_computed_values *const values[RUNS], int64_t microbatch,
                                     cse_first_value *value)
{
    const cse_computed_part part = { .microbatch = microbatch, .sample = -1 };
    const cse_checkpoint_tensor *tensors[RUNS] = { NULL, NULL };
    cse_tensor_view views[RUNS];
    cse_status status = CSE_OK;
    for (int r = 0; r < RUNS; r++)
        cse_tensor_view_begin(&views[r]);
    for (int r = 0; r < RUNS && status == CSE_OK; r++) {
        status = cse_computed_values_add(values[r], part, &views[r]);
        tensors[r] = find_tensor(&views[r], r == 0 ? value->name : value->other_name);
    }
    if (status == CSE_OK && tensors[0] != NULL && tensors[1] != NULL &&
        cse_shape_equal(tensors[0]->shape, tensors[1]->shape)) {
        compare_tensors(tensors, value);
        value->microbatch = microbatch;
    }
    for (int r = 0; r < RUNS; r++)
        cse_tensor_view_clear(&views[r]);
    return status;
}

/* Runs may differ in how a batch is divided: as far as both have microbatches. */
static cse_status compare_values(cse_computed_values *const values[RUNS], cse_first_value *value)
{
    const int a = cse_computed_values_microbatches(values[0]);
    const int b = cse_computed_values_microbatches(values[1]);
    cse_status status = CSE_OK;
    if (value->of_step)
        return compare_microbatch(values, -1, value);
    for (int m = 0; status == CSE_OK && !value->located && m < (a < b ? a : b); m++)
        status = compare_microbatch(values, m, value);
    return status;
}

/* Both begin with the states that the first replays left before the step. */
static cse_status locate(const char *const model_dirs[RUNS], const cse_replay before[RUNS],
                         int num_csx, cse_arena *arena, cse_first_value *value)
{
    const int64_t step = before[0].step;
    cse_replay replays[RUNS];
    cse_computed_values *values[RUNS] = { NULL, NULL };
    cse_status status = CSE_OK;
    int count = 0;
    for (; count < RUNS && status == CSE_OK; count++)
        status = cse_replay_run(
            &(cse_replay_options){
                .model_dir = model_dirs[count],
                .step = step,
                .num_csx = num_csx,
                .latest = step - 1,
                .begin = before[count].folder,
                .values = cse_exact_pattern(arena, count == 0 ? value->name : value->other_name) },
            &replays[count]);
    for (int r = 0; r < RUNS && status == CSE_OK; r++)
        status = cse_computed_values_open(replays[r].folder, step, &values[r]);
    if (status == CSE_OK)
        status = compare_values(values, value);
    for (int r = 0; r < RUNS; r++)
        cse_computed_values_close(&values[r]);
    for (int r = 0; r < count; r++)
        cse_replay_clear(&replays[r]);
    return status;
}

/* ---- the node ---- */

static void take_tensor(const cse_compared_tensor tensors[RUNS], cse_arena *arena,
                        cse_first_value *value)
{
    const cse_compared_tensor *tensor = &tensors[0];
    *value = (cse_first_value){ .found = true,
                                .name = cse_arena_string(arena, tensor->name),
                                .other_name = cse_arena_string(arena, tensors[1].name),
                                .op = cse_arena_string(arena, tensor->op),
                                .dtype = cse_arena_string(arena, tensor->dtype),
                                .file = tensor->file != NULL ? cse_arena_string(arena, tensor->file)
                                                             : NULL,
                                .line = tensor->line,
                                .backward = tensor->backward,
                                .microbatch = -1 };
}

/* By the digests of the tensors of both graphs. */
static cse_status compare_digests(const cse_replay replays[RUNS], cse_graph *const graphs[RUNS],
                                  cse_arena *arena, cse_first_value *value)
{
    const cse_compared_names pairs = cse_value_pairs_find(graphs, arena);
    cse_run_comparison comparison = { .differs = false };
    const cse_status status = cse_run_compare(
        (const char *const[RUNS]){ replays[0].folder, replays[1].folder }, &pairs, &comparison);
    if (status == CSE_OK && comparison.differs)
        take_tensor(comparison.first, arena, value);
    cse_run_comparison_clear(&comparison);
    return status;
}

/* Of what is compiled for the replay, which has the run's code and notes of its values. */
static cse_status find_line(const cse_replay *replay, cse_arena *arena, cse_first_value *value)
{
    const char *artefact = cse_replay_artefact(replay->folder, arena);
    return artefact != NULL
               ? cse_generated_line_find(artefact, value->name, arena, &value->generated)
               : CSE_OK;
}

cse_status cse_first_value_find(const char *const model_dirs[RUNS], const cse_replay replays[RUNS],
                                int num_csx, cse_arena *arena, cse_first_value *value)
{
    cse_graph *graphs[RUNS] = { NULL, NULL };
    bool computed = false;
    cse_status status = CSE_OK;
    *value = (cse_first_value){ .found = false };
    for (int r = 0; r < RUNS && status == CSE_OK; r++)
        status = cse_replay_graph(replays[r].folder, &graphs[r]);
    if (status == CSE_OK)
        status = compare_digests(replays, graphs, arena, value);
    if (status == CSE_OK && value->found)
        computed = note_inputs(graphs[0], arena, value);
    if (status == CSE_OK && value->found)
        status = find_line(&replays[0], arena, value);
    for (int r = 0; r < RUNS; r++)
        cse_graph_destroy(&graphs[r]);
    if (computed)
        status = locate(model_dirs, replays, num_csx, arena, value);
    return status;
}
