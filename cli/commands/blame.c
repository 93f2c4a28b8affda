/* `csengine blame`: the samples behind the loss of a past step, and which step to ask about. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/arguments/command_line.h"
#include "cli/arguments/kept_states_option.h"
#include "cli/arguments/option_values.h"
#include "cli/runs/curve_events_shown.h"
#include "cli/runs/dead_units_shown.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "run/travel/sample_losses.h"

enum { SHOWN_SAMPLES = 10 };

static bool has_norms(const cse_sample_losses *all)
{
    return all->gradient_norms != NULL;
}

static void print_sample(const cse_sample_losses *all, const cse_sample_loss *loss)
{
    printf("%12" PRId64 "  %11.7g  %10" PRId64, loss->sample, loss->loss, loss->microbatch);
    if (has_norms(all))
        printf("  %13.7g", all->gradient_norms[loss->microbatch]);
    if (all->has_gradients && loss->has_gradient)
        printf("  %13.7g", loss->gradient_norm);
    else if (all->has_gradients)
        printf("  %13s", "-");
    if (all->terms > 1)
        printf("  %11.7g at %" PRId64, loss->worst_loss, loss->worst);
    printf("\n");
}

static void print_titles(const cse_sample_losses *all)
{
    if (!has_norms(all))
        printf("norms of gradients of microbatches: not kept, they take more than 1 GiB\n");
    printf("%12s  %11s  %10s", "sample", "loss", "microbatch");
    if (has_norms(all))
        printf("  %13s", "gradient norm");
    if (all->has_gradients)
        printf("  %13s", "of the sample");
    printf("%s\n", all->terms > 1 ? "  largest term" : "");
}

static void print_all(const char *run, const cse_replay *replay, const cse_sample_losses *all,
                      int64_t shown)
{
    double sum = 0;
    for (int64_t i = 0; i < all->count; i++)
        sum += all->losses[i].loss;
    cse_print("%s, step %" PRId64 ": %s\n", run, replay->step, replay->words.data);
    printf("%" PRId64 " samples in %" PRId64 " microbatches, the mean of their losses is %.7g\n",
           all->count, all->microbatches, sum / (double)all->count);
    if (all->has_gradients)
        printf("the gradients of the samples add up to the step's within %.2g of their size\n",
               all->sum_difference);
    print_titles(all);
    for (int64_t i = 0; i < all->count && i < shown; i++)
        print_sample(all, &all->losses[i]);
}

static json_t *sample_json(const cse_sample_losses *all, const cse_sample_loss *loss)
{
    json_t *sample =
        json_pack("{s:I, s:I, s:o, s:I, s:o}", "sample", (json_int_t)loss->sample, "microbatch",
                  (json_int_t)loss->microbatch, "loss", cse_json_finite(loss->loss), "largest_term",
                  (json_int_t)loss->worst, "largest_term_loss", cse_json_finite(loss->worst_loss));
    if (all->has_gradients)
        json_object_set_new(sample, "gradient_norm",
                            loss->has_gradient ? cse_json_finite(loss->gradient_norm)
                                               : json_null());
    return sample;
}

static void print_json(const char *run, const cse_replay *replay, const cse_sample_losses *all,
                       int64_t shown)
{
    json_t *samples = json_array(), *norms = has_norms(all) ? json_array() : NULL;
    for (int64_t i = 0; i < all->count && i < shown; i++)
        json_array_append_new(samples, sample_json(all, &all->losses[i]));
    for (int64_t m = 0; norms != NULL && m < all->microbatches; m++)
        json_array_append_new(norms, cse_json_finite(all->gradient_norms[m]));
    json_t *whole = json_pack(
        "{s:s, s:I, s:I, s:b, s:s, s:s, s:I, s:I, s:o, s:o}", "run", run, "step",
        (json_int_t)replay->step, "from", (json_int_t)replay->from, "from_kept", replay->from_kept,
        "bits", cse_replay_verdict_name(replay->verdict), "words", replay->words.data, "count",
        (json_int_t)all->count, "terms", (json_int_t)all->terms, "samples", samples,
        "gradient_norms", norms != NULL ? norms : json_null());
    if (all->has_gradients)
        json_object_set_new(whole, "gradient_sum_difference", cse_json_finite(all->sum_difference));
    cse_json_print(whole);
    json_decref(whole);
}

static cse_status read_question(const cse_command_line *line, cse_arena *arena,
                                cse_sample_question *q, int64_t *shown)
{
    static const int64_t steps[] = { 1, INT32_MAX }, replicas[] = { 1, 250 };
    static const int64_t counts[] = { 1, INT32_MAX };
    int64_t num_csx = 0;
    *q = (cse_sample_question){ .model_dir = line->arguments[0],
                                .gradients = cse_option_is_on(line, "gradients") };
    CSE_TRY(cse_option_integer(line, "step", steps, &q->step));
    CSE_TRY(cse_option_integer(line, "top", counts, shown));
    CSE_TRY(cse_option_integer(line, "samples", counts, &q->gradient_most));
    CSE_TRY(cse_option_integer(line, "num_csx", replicas, &num_csx));
    CSE_TRY(cse_option_kept_states(line, q->model_dir, arena, &q->kept));
    q->num_csx = (int)num_csx;
    if (q->step == 0)
        return cse_fail(CSE_USAGE, "blame: needs --step S, from 1, or --curves or --dead_units");
    return q->gradient_most > 0 && !q->gradients
               ? cse_fail(CSE_USAGE, "blame: --samples has no effect without --gradients")
               : CSE_OK;
}

/* `others` of the options, ended by NULL, have no effect with `what`. */
static cse_status refuse_beside(const cse_command_line *line, const char *what,
                                const char *const others[])
{
    for (int i = 0; others[i] != NULL; i++)
        if (cse_option_value(line, others[i]) != NULL || cse_option_is_on(line, others[i]))
            return cse_fail(CSE_USAGE, "blame: --%s has no effect with %s: leave one of them out",
                            others[i], what);
    return CSE_OK;
}

/* Nothing is done again for curves, so what says how is refused. */
static cse_status show_curves(const cse_command_line *line)
{
    static const char *const of_replays[] = { "step",    "top",         "gradients",  "samples",
                                              "num_csx", "kept_states", "states_dir", NULL };
    cse_judged_curves events;
    CSE_TRY(refuse_beside(line, "--curves, which reads the curves of all steps", of_replays));
    const cse_status status = cse_judged_curves_find(line->arguments[0], &events);
    if (status == CSE_OK && cse_option_is_on(line, "json"))
        cse_judged_curves_print_json(line->arguments[0], &events);
    else if (status == CSE_OK)
        cse_judged_curves_print(line->arguments[0], &events);
    cse_judged_curves_clear(&events);
    return status;
}

static cse_status show_dead_units(const cse_command_line *line, cse_arena *arena)
{
    static const int64_t steps[] = { 1, INT32_MAX }, replicas[] = { 1, 250 };
    static const char *const of_samples[] = { "curves", "top", "gradients", "samples", NULL };
    int64_t num_csx = 0;
    cse_dead_question q = { .model_dir = line->arguments[0] };
    cse_dead_units found = { .count = 0 };
    CSE_TRY(refuse_beside(line, "--dead_units", of_samples));
    CSE_TRY(cse_option_integer(line, "step", steps, &q.step));
    CSE_TRY(cse_option_integer(line, "num_csx", replicas, &num_csx));
    CSE_TRY(cse_option_kept_states(line, q.model_dir, arena, &q.kept));
    q.num_csx = (int)num_csx;
    const cse_status status = cse_dead_units_find(&q, &found);
    if (status == CSE_OK && cse_option_is_on(line, "json"))
        cse_dead_units_print_json(q.model_dir, &found);
    else if (status == CSE_OK)
        cse_dead_units_print(q.model_dir, &found);
    cse_dead_units_clear(&found);
    return status;
}

static int find_dead_units(const cse_command_line *line)
{
    cse_arena *arena = cse_arena_new();
    const int code = cse_report(show_dead_units(line, arena));
    cse_arena_destroy(&arena);
    return code;
}

static int run(const cse_command_line *line)
{
    if (cse_option_is_on(line, "dead_units"))
        return find_dead_units(line);
    if (cse_option_is_on(line, "curves"))
        return cse_report(show_curves(line));
    int64_t shown = SHOWN_SAMPLES;
    cse_arena *arena = cse_arena_new();
    cse_sample_question question;
    cse_sample_losses losses = { .count = 0 };
    cse_replay replay = { .folder = "" };
    cse_status status = read_question(line, arena, &question, &shown);
    if (status == CSE_OK)
        status = cse_sample_losses_find(&question, &replay, &losses);
    if (status == CSE_OK && cse_option_is_on(line, "json"))
        print_json(question.model_dir, &replay, &losses, shown);
    else if (status == CSE_OK && losses.count > 0)
        print_all(question.model_dir, &replay, &losses, shown);
    if (status == CSE_OK && replay.verdict == CSE_REPLAY_OTHER)
        status = cse_fail(CSE_DATA, "%s", replay.words.data);
    cse_replay_clear(&replay);
    cse_sample_losses_clear(&losses);
    const int code = cse_report(status);
    cse_arena_destroy(&arena);
    return code;
}

static const cse_option options[] = {
    { "step", "S", NULL, "the step, from 1; with --dead_units by default the last one" },
    { "curves", NULL, NULL,
      "which step: where loss and norms of gradients were first not finite, and jumped most" },
    { "dead_units", NULL, NULL,
      "units with ReLU that are zero for all samples of the step, and the step that made them so" },
    { "top", "N", NULL, "shows the N samples of the largest losses, or gradients; 10" },
    { "gradients", NULL, NULL,
      "the norm of the gradient of each sample alone, by one pass of the step more; ranks by it" },
    { "samples", "N", NULL,
      "with --gradients: of the N samples of the largest losses; default: of all" },
    { "num_csx", "N", NULL, "processes that compute; default: as the run had" },
    CSE_KEPT_STATES_OPTION,
    CSE_STATES_DIR_OPTION,
    { "json", NULL, NULL, "one JSON object on stdout" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "blame model_dir/a --curves", "the steps to ask about: first not finite, largest jump" },
    { "blame model_dir/a --dead_units", "units that give nothing any more, and since which step" },
    { "blame model_dir/a --step 700", "the samples of step 700 with the largest losses" },
    { "blame model_dir/a --step 700 --gradients", "the samples with the largest gradients" },
    { "blame model_dir/a --step 700 --top 64 --json", "more of them, for programs" },
    { 0 },
};

const cse_command cse_command_blame = {
    .name = "blame",
    .group = CSE_GROUP_LOOK,
    .summary = "finds the steps, samples and dead units behind a loss that went wrong",
    .arguments = "MODEL_DIR",
    .doc =
        "Does the step again, as `csengine inspect` does, and shows the loss of each of its\n"
        "samples, by their numbers in the data, the largest first; of a loss with several terms\n"
        "a sample, as of tokens, their mean and the largest one. The norm of the gradient is\n"
        "that of the microbatch; with --gradients that of the sample alone as well, which is\n"
        "refused where the step's gradient is not the sum of those. Exit code 65: these are not\n"
        "the run's bits. --curves says which step to ask about, by the curves in the run store:\n"
        "nothing is done again. A jump is told from the noise of the points before it.\n"
        "--dead_units searches the step that made a unit dead by halves: at most 64 steps are\n"
        "looked at, each by a replay.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .examples = examples,
    .computes = true,
    .run = run,
};
