/* `csengine bisect`: the first step in which two runs differ, and what differs in it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/arguments/command_line.h"
#include "cli/arguments/kept_states_option.h"
#include "cli/arguments/option_values.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "engine/base/types/shape.h"
#include "engine/formats/checkpoint/digest.h"
#include "run/measure/identity_comparison.h"
#include "run/travel/bisection.h"

enum { SHOWN_STATES = 12, SHOWN_SETTINGS = 20 };

/* "[3, 5]" of the element at a position. */
static void place_of(cse_shape shape, int64_t position, char *text, size_t size)
{
    cse_shape place = shape;
    for (int i = shape.rank - 1; i >= 0; i--) {
        place.dims[i] = position % shape.dims[i];
        position /= shape.dims[i];
    }
    cse_shape_text(place, text, size);
}

static void print_state(const cse_state_difference *d)
{
    char shape[CSE_SHAPE_TEXT_BYTES], place[CSE_SHAPE_TEXT_BYTES];
    cse_shape_text(d->shape, shape, sizeof shape);
    if (d->only_in[0] || d->only_in[1]) {
        cse_print("  %s %s: only in %s\n", d->name, shape, d->only_in[0] ? "A" : "B");
        return;
    }
    place_of(d->shape, d->first, place, sizeof place);
    cse_print("  %s%s: %.9g and %.9g; %" PRId64 " of its elements differ, by %.3g at most\n",
              d->name, place, d->values[0], d->values[1], d->elements, d->largest);
}

static void print_inputs(const cse_first_value *v)
{
    if (v->input_count == 0)
        return;
    printf("  computed from ");
    for (int i = 0; i < v->input_count; i++)
        cse_print("%s%s (%s)", i > 0 ? ", " : "", v->inputs[i].name,
                  v->inputs[i].equal ? "equal" : "of the data");
    printf("\n");
}

static void print_first_value(const cse_first_value *v)
{
    char place[CSE_SHAPE_TEXT_BYTES];
    if (!v->found)
        return;
    cse_print("the first value that differs: %s, op %s%s, %s", v->name, v->op,
              v->updates    ? ""
              : v->backward ? " (backward)"
                            : " (forward)",
              v->dtype);
    if (v->file != NULL)
        cse_print(", %s:%d", v->file, v->line);
    if (strcmp(v->name, v->other_name) != 0)
        cse_print("; in B %s", v->other_name);
    printf("\n");
    if (v->generated.file != NULL)
        cse_print("  generated code: %s:%d: %s\n", v->generated.file, v->generated.line,
                  v->generated.text);
    if (v->located) {
        place_of(v->shape, v->first, place, sizeof place);
        if (v->microbatch >= 0)
            printf("  microbatch %" PRId64 ", ", v->microbatch);
        printf("%s%s: %.9g and %.9g; %" PRId64 " of its elements differ, by %.3g at most\n",
               v->microbatch < 0 ? "  element " : "", place, v->values[0], v->values[1],
               v->elements, v->largest);
    }
    print_inputs(v);
}

static void print_states(const char *title, const cse_state_differences *all)
{
    cse_print("%s: %d\n", title, all->count);
    for (int i = 0; i < all->count && i < SHOWN_STATES; i++)
        print_state(&all->list[i]);
    if (all->count > SHOWN_STATES)
        printf("  ...\n");
}

/* What the replays say of the cause. */
static void print_cause(const cse_bisection *b)
{
    for (int r = 0; r < CSE_BISECTED_RUNS; r++)
        if (b->verdicts[r] == CSE_REPLAY_OTHER)
            cse_print("%s does not repeat: done again, its steps up to %" PRId64 " have other "
                      "digests: its states were changed from outside, or its machine had a "
                      "fault\n",
                      r == 0 ? "A" : "B", b->step);
    if (b->before.count > 0 && b->step == 1)
        printf("the cause stands before the step: the runs begin with other states\n");
    else if (b->before.count > 0)
        printf("the cause stands before the step: the checkpoints that the replays begin with "
               "differ, though the digests of the step before are equal: one was changed "
               "after it was written, or the step was begun from elsewhere\n");
}

static void print_settings(const cse_bisection *b)
{
    if (b->setting_count == 0)
        printf("settings: none that can change a bit differs\n");
    else
        printf("settings that differ, and can have caused it: %d\n", b->setting_count);
    for (int i = 0; i < b->setting_count && i < SHOWN_SETTINGS; i++) {
        const cse_setting_difference *d = &b->settings[i];
        cse_print("  %s: %s and %s\n", d->path, d->values[0] != NULL ? d->values[0] : "(none)",
                  d->values[1] != NULL ? d->values[1] : "(none)");
    }
}

static void print_chains(const cse_bisection *b)
{
    for (int r = 0; r < CSE_BISECTED_RUNS; r++)
        if (b->broken[r] > 0)
            cse_print("the chain of %s is broken at step %" PRId64 ": its rows were changed, or "
                      "some are missing\n",
                      r == 0 ? "A" : "B", b->broken[r]);
}

static void print_all(const cse_bisection *b, const cse_identity_comparison *identity)
{
    print_chains(b);
    if (b->parting == CSE_PARTING_NONE) {
        printf("equal: the digests of all %" PRId64 " steps that both have\n", b->common);
        return;
    }
    printf("step %" PRId64 " is the first that differs: %s; %" PRId64
           " steps before it are equal\n",
           b->step,
           b->parting == CSE_PARTING_SAMPLES ? "other samples" : "the same samples, other states",
           b->common - 1);
    cse_print("identity: %s\n", identity->words.data);
    print_settings(b);
    if (!b->replayed)
        return;
    print_cause(b);
    if (b->before.count > 0)
        print_states("states that differ before the step", &b->before);
    print_first_value(&b->first_value);
    print_states("states that differ after the step", &b->after);
}

static json_t *states_json(const cse_state_differences *all)
{
    json_t *list = json_array();
    for (int i = 0; i < all->count; i++) {
        const cse_state_difference *d = &all->list[i];
        char place[CSE_SHAPE_TEXT_BYTES];
        place_of(d->shape, d->first, place, sizeof place);
        json_array_append_new(
            list, json_pack("{s:s, s:b, s:b, s:I, s:s, s:[o, o], s:o}", "name", d->name,
                            "only_in_a", (int)d->only_in[0], "only_in_b", (int)d->only_in[1],
                            "elements", (json_int_t)d->elements, "first", place, "values",
                            cse_json_finite(d->values[0]), cse_json_finite(d->values[1]), "largest",
                            cse_json_finite(d->largest)));
    }
    return list;
}

static json_t *first_value_json(const cse_first_value *v)
{
    char place[CSE_SHAPE_TEXT_BYTES];
    json_t *inputs = json_array(), *located = json_null();
    if (!v->found)
        return json_null();
    for (int i = 0; i < v->input_count; i++)
        json_array_append_new(inputs, json_pack("{s:s, s:b}", "name", v->inputs[i].name, "equal",
                                                (int)v->inputs[i].equal));
    if (v->located) {
        place_of(v->shape, v->first, place, sizeof place);
        located = json_pack("{s:I, s:s, s:I, s:[o, o], s:o}", "microbatch",
                            (json_int_t)v->microbatch, "first", place, "elements",
                            (json_int_t)v->elements, "values", cse_json_finite(v->values[0]),
                            cse_json_finite(v->values[1]), "largest", cse_json_finite(v->largest));
    }
    json_t *generated = v->generated.file != NULL
                            ? json_pack("{s:s, s:i, s:s}", "file", v->generated.file, "line",
                                        v->generated.line, "text", v->generated.text)
                            : json_null();
    return json_pack("{s:s, s:s, s:s, s:s, s:b, s:s?, s:o, s:o, s:o, s:o}", "name", v->name,
                     "name_in_b", v->other_name, "op", v->op, "dtype", v->dtype, "backward",
                     (int)v->backward, "file", v->file, "line",
                     v->file != NULL ? json_integer(v->line) : json_null(), "generated", generated,
                     "inputs", inputs, "where", located);
}

static void print_json(const cse_command_line *line, const cse_bisection *b,
                       const cse_identity_comparison *identity)
{
    json_t *settings = json_array();
    for (int i = 0; i < b->setting_count; i++)
        json_array_append_new(settings,
                              json_pack("{s:s, s:[s?, s?]}", "path", b->settings[i].path, "values",
                                        b->settings[i].values[0], b->settings[i].values[1]));
    json_t *whole =
        json_pack("{s:[s, s], s:b, s:I, s:I, s:s?, s:s, s:o, s:[I, I]}", "runs", line->arguments[0],
                  line->arguments[1], "equal", b->parting == CSE_PARTING_NONE, "common_steps",
                  (json_int_t)b->common, "step", (json_int_t)b->step, "differs",
                  b->parting == CSE_PARTING_NONE      ? NULL
                  : b->parting == CSE_PARTING_SAMPLES ? "samples"
                                                      : "states",
                  "identity", identity->words.data, "settings", settings, "broken",
                  (json_int_t)b->broken[0], (json_int_t)b->broken[1]);
    if (b->replayed)
        json_object_update_new(whole, json_pack("{s:[s, s], s:o, s:o, s:o}", "replays",
                                                cse_replay_verdict_name(b->verdicts[0]),
                                                cse_replay_verdict_name(b->verdicts[1]), "before",
                                                states_json(&b->before), "first_value",
                                                first_value_json(&b->first_value), "after",
                                                states_json(&b->after)));
    cse_json_print(whole);
    json_decref(whole);
}

static cse_status read_options(const cse_command_line *line, cse_arena *arena,
                               cse_bisection_options *o)
{
    static const int64_t replicas[] = { 1, 250 };
    int64_t num_csx = 0;
    CSE_TRY(cse_option_integer(line, "num_csx", replicas, &num_csx));
    *o = (cse_bisection_options){ .no_replay = cse_option_is_on(line, "no_replay"),
                                  .num_csx = (int)num_csx };
    for (int r = 0; r < CSE_BISECTED_RUNS; r++)
        CSE_TRY(cse_option_kept_states(line, line->arguments[r], arena, &o->kept[r]));
    return CSE_OK;
}

static int run(const cse_command_line *line)
{
    cse_arena *arena = cse_arena_new();
    cse_bisection_options chosen;
    cse_bisection b = { .arena = NULL };
    cse_identity_comparison identity = { .known = false };
    cse_status status = read_options(line, arena, &chosen);
    if (status == CSE_OK)
        status = cse_identity_compare(line->arguments, &identity);
    if (status == CSE_OK && identity.files)
        status = cse_fail(CSE_USAGE, "bisect: takes two model_dirs; `csengine compare` takes "
                                     "checkpoints");
    if (status == CSE_OK)
        status = cse_bisect(line->arguments, &chosen, &b);
    if (status == CSE_OK && cse_option_is_on(line, "json"))
        print_json(line, &b, &identity);
    else if (status == CSE_OK)
        print_all(&b, &identity);
    const int exit_code = status != CSE_OK ? cse_report(status)
                          : b.parting == CSE_PARTING_NONE && b.broken[0] == 0 && b.broken[1] == 0
                              ? 0
                              : 1;
    cse_bisection_clear(&b);
    cse_identity_comparison_clear(&identity);
    cse_arena_destroy(&arena);
    return exit_code;
}

static const cse_option options[] = {
    { "no_replay", NULL, NULL, "the step alone, by the digests: nothing is computed" },
    { "num_csx", "N", NULL, "processes that compute; default: as the runs had" },
    CSE_KEPT_STATES_OPTION,
    { "json", NULL, NULL, "one JSON object on stdout" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "bisect model_dir/a model_dir/b", "the first step in which two runs differ, and why" },
    { 0 },
};

const cse_command cse_command_bisect = {
    .name = "bisect",
    .group = CSE_GROUP_LOOK,
    .summary = "finds the first step in which two runs differ, and what differs in it",
    .arguments = "MODEL_DIR_A MODEL_DIR_B",
    .doc =
        "Compares the digests that both runs have of each step, which says whether the samples or\n"
        "the states of the first step that differs are others; names the settings that differ;\n"
        "then does that step again in both, and shows the states that differ before and after\n"
        "it, and the first value that the step computed otherwise, in the order of execution: its\n"
        "op, source, microbatch, element, and what it was computed from. A run that does not\n"
        "repeat had a fault. Exit code: 0 equal, 1 different.",
    .options = options,
    .min_arguments = 2,
    .max_arguments = 2,
    .examples = examples,
    .computes = true,
    .run = run,
};
