/* `csengine verify`: whether a run is that of a proof, by its chain and by replay. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/arguments/command_line.h"
#include "cli/arguments/option_values.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "run/travel/proof.h"

static void print_check(const cse_command_line *line, const cse_proof_check *check)
{
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
    cse_status status = cse_option_integer(line, "steps", stretches, &count);
    if (status == CSE_OK)
        status = cse_option_integer(line, "num_csx", replicas, &num_csx);
    if (status == CSE_OK)
        status =
            cse_proof_verify(line->arguments[0], line->arguments[1], count, (int)num_csx, &check);
    if (status == CSE_OK)
        print_check(line, &check);
    return cse_report(status);
}

static const cse_option options[] = {
    { "steps", "K", NULL, "does so many random stretches again; 3; 0: the chain alone" },
    { "num_csx", "N", NULL, "processes that compute; default: as the run had" },
    { "json", NULL, NULL, "one JSON object on stdout" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "verify a.proof model_dir/a", "checks a run by its proof and three stretches" },
    { 0 },
};

const cse_command cse_command_verify = {
    .name = "verify",
    .group = CSE_GROUP_LOOK,
    .summary = "checks a run by its proof, and does stretches of it again",
    .arguments = "PROOF MODEL_DIR",
    .doc = "Checks the signature of the proof, that the chain of the run holds and is that of the\n"
           "proof, and K random stretches by replay, each from the checkpoint before. Exit code\n"
           "65: no match, with the first step that differs.",
    .options = options,
    .min_arguments = 2,
    .max_arguments = 2,
    .examples = examples,
    .computes = true,
    .run = run,
};
