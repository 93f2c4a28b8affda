/* `csengine blame`: which samples made the loss of a past step what it was. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/arguments/command_line.h"
#include "cli/arguments/option_values.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "run/travel/sample_losses.h"

enum { SHOWN_SAMPLES = 10 };

static void print_sample(const cse_sample_losses *all, const cse_sample_loss *loss)
{
    printf("%12" PRId64 "  %11.7g  %10" PRId64, loss->sample, loss->loss, loss->microbatch);
    if (all->gradient_norms != NULL)
        printf("  %13.7g", all->gradient_norms[loss->microbatch]);
    if (all->terms > 1)
        printf("  %11.7g at %" PRId64, loss->worst_loss, loss->worst);
    printf("\n");
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
    if (all->gradient_norms == NULL)
        printf("norms of gradients: not kept, they take more than 1 GiB\n");
    printf("%12s  %11s  %10s", "sample", "loss", "microbatch");
    if (all->gradient_norms != NULL)
        printf("  %13s", "gradient norm");
    printf("%s\n", all->terms > 1 ? "  largest term" : "");
    for (int64_t i = 0; i < all->count && i < shown; i++)
        print_sample(all, &all->losses[i]);
}

static void print_json(const char *run, const cse_replay *replay, const cse_sample_losses *all,
                       int64_t shown)
{
    json_t *samples = json_array(), *norms = all->gradient_norms != NULL ? json_array() : NULL;
    for (int64_t i = 0; i < all->count && i < shown; i++) {
        const cse_sample_loss *loss = &all->losses[i];
        json_array_append_new(
            samples, json_pack("{s:I, s:I, s:o, s:I, s:o}", "sample", (json_int_t)loss->sample,
                               "microbatch", (json_int_t)loss->microbatch, "loss",
                               cse_json_finite(loss->loss), "largest_term", (json_int_t)loss->worst,
                               "largest_term_loss", cse_json_finite(loss->worst_loss)));
    }
    for (int64_t m = 0; norms != NULL && m < all->microbatches; m++)
        json_array_append_new(norms, cse_json_finite(all->gradient_norms[m]));
    json_t *whole = json_pack(
        "{s:s, s:I, s:s, s:s, s:I, s:I, s:o, s:o}", "run", run, "step", (json_int_t)replay->step,
        "bits", cse_replay_verdict_name(replay->verdict), "words", replay->words.data, "count",
        (json_int_t)all->count, "terms", (json_int_t)all->terms, "samples", samples,
        "gradient_norms", norms != NULL ? norms : json_null());
    cse_json_print(whole);
    json_decref(whole);
}

static int run(const cse_command_line *line)
{
    static const int64_t steps[] = { 1, INT32_MAX }, replicas[] = { 1, 250 };
    static const int64_t counts[] = { 1, INT32_MAX };
    const char *model_dir = line->arguments[0];
    int64_t step = 0, shown = SHOWN_SAMPLES, num_csx = 0;
    cse_sample_losses losses = { .count = 0 };
    cse_replay replay = { .folder = "" };
    cse_status status = cse_option_integer(line, "step", steps, &step);
    if (status == CSE_OK)
        status = cse_option_integer(line, "top", counts, &shown);
    if (status == CSE_OK)
        status = cse_option_integer(line, "num_csx", replicas, &num_csx);
    if (status == CSE_OK && step == 0)
        status = cse_fail(CSE_USAGE, "blame: needs --step S, from 1");
    if (status == CSE_OK)
        status = cse_sample_losses_find(model_dir, step, (int)num_csx, &replay, &losses);
    if (status == CSE_OK && cse_option_is_on(line, "json"))
        print_json(model_dir, &replay, &losses, shown);
    else if (status == CSE_OK)
        print_all(model_dir, &replay, &losses, shown);
    if (status == CSE_OK && replay.verdict == CSE_REPLAY_OTHER)
        status = cse_fail(CSE_DATA, "what was computed is not what the run had");
    cse_replay_clear(&replay);
    cse_sample_losses_clear(&losses);
    return cse_report(status);
}

static const cse_option options[] = {
    { "step", "S", NULL, "the step, from 1" },
    { "top", "N", NULL, "shows the N samples of the largest losses; 10" },
    { "num_csx", "N", NULL, "processes that compute; default: as the run had" },
    { "json", NULL, NULL, "one JSON object on stdout" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "blame model_dir/a --step 700", "the samples of step 700 with the largest losses" },
    { "blame model_dir/a --step 700 --top 64 --json", "more of them, for programs" },
    { 0 },
};

const cse_command cse_command_blame = {
    .name = "blame",
    .group = CSE_GROUP_LOOK,
    .summary = "ranks the samples of a past step by their losses, by replay",
    .arguments = "MODEL_DIR",
    .doc =
        "Does the step again, as `csengine inspect` does, and shows the loss of each of its\n"
        "samples, by their numbers in the data, the largest first; of a loss with several terms\n"
        "a sample, as of tokens, their mean and the largest one. The norm of the gradient is\n"
        "that of the microbatch. Exit code 65: these are not the run's bits.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .examples = examples,
    .computes = true,
    .run = run,
};
