/* `csengine compare`: where two runs differ (run/measure/run_comparison.h). */
#include <stdio.h>

#include "cli/arguments/command_line.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "run/measure/identity_comparison.h"
#include "run/travel/value_pairs.h"

static void hex(const unsigned char digest[8], char text[17])
{
    for (int i = 0; i < 8; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

static void print_tensors(const cse_run_comparison *c)
{
    char digests[CSE_COMPARED_RUNS][17];
    if (c->common_steps == 0) {
        printf(
            "tensors: no step has statistics in both runs; numerics: {every: N} records digests\n");
        return;
    }
    if (!c->differs) {
        printf("tensors: equal at all %lld steps with statistics in both, up to step %lld\n",
               (long long)c->common_steps, (long long)c->equal_step);
    } else {
        const cse_compared_tensor *a = &c->first[0];
        hex(a->digest, digests[0]);
        hex(c->first[1].digest, digests[1]);
        cse_print("first difference: %s at step %lld\n  op %s (%s), %s", a->name,
                  (long long)c->step, a->op, a->backward ? "backward" : "forward", a->dtype);
        if (a->file != NULL)
            cse_print(", %s:%d", a->file, a->line);
        cse_print("\n  digests %s and %s\n", digests[0], digests[1]);
        if (c->equal_step > 0)
            printf("  the last step with statistics before it, %lld, is equal\n",
                   (long long)c->equal_step);
    }
    if (c->only[0] + c->only[1] > 0)
        printf("  %d tensors are in the first run alone, %d in the second\n", c->only[0],
               c->only[1]);
}

static void print_losses(const cse_run_comparison *c)
{
    if (c->losses == 0) {
        printf("losses: no step is in both runs\n");
        return;
    }
    printf("losses: %lld steps in both, up to step %lld\n", (long long)c->losses,
           (long long)c->last_step);
    if (c->first_loss_step == 0) {
        printf("  all equal, bit for bit\n");
        return;
    }
    printf("  first differs at step %lld: %.9g and %.9g\n"
           "  largest difference %.6g at step %lld\n"
           "  at the end: %.9g and %.9g\n",
           (long long)c->first_loss_step, c->first_loss[0], c->first_loss[1], c->largest,
           (long long)c->largest_step, c->last_loss[0], c->last_loss[1]);
}

static json_t *identity_json(const cse_identity_comparison *identity)
{
    return json_pack("{s:b, s:b, s:s?, s:s}", "known", (int)identity->known, "same",
                     (int)identity->same, "first",
                     identity->known && !identity->same ? cse_link_names[identity->first] : NULL,
                     "text", identity->words.data);
}

static void print_json(const char *const runs[], const cse_run_comparison *c,
                       const cse_identity_comparison *identity)
{
    json_t *tensor_json = json_null(), *losses = json_object();
    if (c->differs) {
        char digests[CSE_COMPARED_RUNS][17];
        const cse_compared_tensor *a = &c->first[0];
        hex(a->digest, digests[0]);
        hex(c->first[1].digest, digests[1]);
        tensor_json = json_pack("{s:s, s:s, s:s, s:b, s:I, s:[s, s]}", "tensor", a->name, "op",
                                a->op, "dtype", a->dtype, "backward", (int)a->backward, "step",
                                (json_int_t)c->step, "digests", digests[0], digests[1]);
        json_object_set_new(tensor_json, "file",
                            a->file != NULL ? json_string(a->file) : json_null());
        json_object_set_new(tensor_json, "line",
                            a->file != NULL ? json_integer(a->line) : json_null());
    }
    json_object_set_new(losses, "steps", json_integer(c->losses));
    if (c->first_loss_step > 0) {
        json_object_set_new(losses, "first_step", json_integer(c->first_loss_step));
        json_object_set_new(losses, "largest_difference", cse_json_finite(c->largest));
        json_object_set_new(losses, "largest_step", json_integer(c->largest_step));
        json_object_set_new(losses, "last",
                            json_pack("[o, o]", cse_json_finite(c->last_loss[0]),
                                      cse_json_finite(c->last_loss[1])));
    }
    json_t *whole = json_pack("{s:[s, s], s:o, s:b, s:I, s:I, s:o, s:[i, i], s:o}", "runs", runs[0],
                              runs[1], "identity", identity_json(identity), "equal", (int)c->equal,
                              "observed_steps", (json_int_t)c->common_steps, "equal_step",
                              (json_int_t)c->equal_step, "first_difference", tensor_json, "only",
                              c->only[0], c->only[1], "losses", losses);
    cse_json_print(whole);
    json_decref(whole);
}

/* Returns the exit code. */
static int show_checkpoints(const cse_command_line *line, const cse_identity_comparison *identity)
{
    if (cse_option_is_on(line, "json")) {
        json_t *whole =
            json_pack("{s:[s, s], s:o, s:b}", "checkpoints", line->arguments[0], line->arguments[1],
                      "identity", identity_json(identity), "equal", (int)identity->same_weights);
        cse_json_print(whole);
        json_decref(whole);
    } else {
        cse_print("identity: %s\nweights: %s\n", identity->words.data,
                  identity->same_weights ? "equal, bit for bit" : "different");
    }
    return identity->same_weights ? 0 : 1;
}

/* Returns the exit code. */
static int show_runs(const cse_command_line *line, const cse_identity_comparison *identity)
{
    cse_run_comparison c;
    cse_compared_names pairs;
    cse_arena *arena = cse_arena_new();
    if (!cse_option_is_on(line, "json"))
        cse_print("identity: %s\n", identity->words.data);
    const bool paired = cse_value_pairs_of_runs(line->arguments, arena, &pairs);
    cse_status status = cse_run_compare(line->arguments, paired ? &pairs : NULL, &c);
    if (status == CSE_OK && cse_option_is_on(line, "json")) {
        print_json(line->arguments, &c, identity);
    } else if (status == CSE_OK) {
        print_tensors(&c);
        if (!paired && c.common_steps > 0)
            printf("  values were matched by name, and \"#3\" in a name is an order of execution, "
                   "which may differ: the compiled step of a run is not there any more\n");
        print_losses(&c);
    }
    cse_run_comparison_clear(&c);
    cse_arena_destroy(&arena);
    return status != CSE_OK ? cse_report(status) : c.equal ? 0 : 1;
}

static int run(const cse_command_line *line)
{
    cse_identity_comparison identity;
    cse_status status = cse_identity_compare(line->arguments, &identity);
    int exit_code = status != CSE_OK ? cse_report(status)
                    : identity.files ? show_checkpoints(line, &identity)
                                     : show_runs(line, &identity);
    cse_identity_comparison_clear(&identity);
    return exit_code;
}

static const cse_option options[] = {
    { "json", NULL, NULL, "one JSON object on stdout" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "compare model_dir/a model_dir/b", "the first step, tensor and op in which two runs differ" },
    { 0 },
};

const cse_command cse_command_compare = {
    .name = "compare",
    .group = CSE_GROUP_LOOK,
    .summary = "finds where two runs first differ, and compares their losses",
    .arguments = "RUN_A RUN_B, or CHECKPOINT_A CHECKPOINT_B",
    .doc =
        "Says which link of the identities differs first: configuration, code, artefact, data or\n"
        "seed. RUN_A and RUN_B are model_dirs. Shows the first step with statistics, and in it\n"
        "the first tensor and op in execution order, whose bits differ (numerics: {every: N}\n"
        "records digests), then where and by how much the losses differ. Of two checkpoints:\n"
        "whether their weights are equal. Exit code: 0 equal, 1 different.",
    .options = options,
    .min_arguments = 2,
    .max_arguments = 2,
    .examples = examples,
    .run = run,
};
