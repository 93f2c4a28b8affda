/* `csengine verify`: whether a run, or a checkpoint, is of a proof, by its chain and by replay. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "cli/arguments/command_line.h"
#include "cli/arguments/option_values.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "run/travel/checkpoint_proof.h"

static void print_checkpoint(const cse_proof_check *check)
{
    if (check->steps > 0)
        cse_print("match: done again from the checkpoint, the steps %" PRId64 " to %" PRId64
                  " lead to the chain of the proof, so that its states are those of step "
                  "%" PRId64 "\n",
                  check->first + 1, check->last, check->first);
    else
        cse_print("match: the checkpoint says that it has the proof's chain of step %" PRId64
                  "; its states were not checked by steps after it (--config)\n",
                  check->first);
    cse_print("signed by %s\n", check->key);
}

static void print_check(const cse_command_line *line, const cse_proof_check *check,
                        bool is_checkpoint)
{
    if (!cse_option_is_on(line, "json") && is_checkpoint) {
        print_checkpoint(check);
        return;
    }
    if (!cse_option_is_on(line, "json")) {
        cse_print("match: the chain of steps %" PRId64 " to %" PRId64 " is that of the proof, and "
                  "%" PRId64 " stretches with %" PRId64 " steps in all have the run's bits\n"
                  "signed by %s\n",
                  check->first, check->last, check->stretches, check->steps, check->key);
        return;
    }
    json_t *answer =
        json_pack("{s:b, s:I, s:I, s:I, s:I, s:s}", "match", 1, "first", (json_int_t)check->first,
                  "last", (json_int_t)check->last, "stretches", (json_int_t)check->stretches,
                  "steps", (json_int_t)check->steps, "key", check->key);
    cse_json_print(answer);
    json_decref(answer);
}

static int run(const cse_command_line *line)
{
    static const int64_t stretches[] = { 0, 1000 }, replicas[] = { 1, 250 };
    int64_t count = 3, num_csx = 0;
    cse_proof_check check;
    struct stat about;
    cse_status status = cse_option_integer(line, "steps", stretches, &count);
    if (status == CSE_OK)
        status = cse_option_integer(line, "num_csx", replicas, &num_csx);
    const char *proof = line->arguments[0], *run = line->arguments[1];
    const bool is_checkpoint = stat(run, &about) == 0 && S_ISREG(about.st_mode);
    const char *config = cse_option_value(line, "config");
    const cse_checkpoint_question question = { proof, run, config, count, (int)num_csx };
    if (status == CSE_OK && config != NULL && !is_checkpoint)
        status = cse_fail(CSE_USAGE, "--config goes with a checkpoint; a run has its own");
    if (status == CSE_OK)
        status = is_checkpoint ? cse_checkpoint_proof_verify(&question, &check)
                               : cse_proof_verify(proof, run, count, (int)num_csx, &check);
    if (status == CSE_OK)
        print_check(line, &check, is_checkpoint);
    return cse_report(status);
}

static const cse_option options[] = {
    { "steps", "K", NULL,
      "does so many random stretches again, or of a checkpoint the steps up to so many points of "
      "the proof; 3; 0: the chain alone" },
    { "config", "CONFIG.yaml", NULL, "of a checkpoint: the configuration of its run" },
    { "num_csx", "N", NULL, "processes that compute; default: as the run had" },
    { "json", NULL, NULL, "one JSON object on stdout" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "verify a.proof model_dir/a", "checks a run by its proof and three stretches" },
    { "verify a.proof checkpoint_500.mdl --config a.yaml", "checks a checkpoint without its run" },
    { 0 },
};

const cse_command cse_command_verify = {
    .name = "verify",
    .group = CSE_GROUP_LOOK,
    .summary = "checks a run or a checkpoint by a proof, and does steps of it again",
    .arguments = "PROOF MODEL_DIR|CHECKPOINT",
    .doc = "Checks the signature of the proof, that the chain of the run holds and is that of the\n"
           "proof, and K random stretches by replay, each from the checkpoint before. Of a\n"
           "checkpoint without its run it compares the chain, and with --config does the steps\n"
           "after it again, up to the K-th point of the proof behind it. Exit code 65: no match, "
           "with the first step that differs.",
    .options = options,
    .min_arguments = 2,
    .max_arguments = 2,
    .examples = examples,
    .computes = true,
    .run = run,
};
