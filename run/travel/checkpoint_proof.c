/* A proof has the chain of some steps: what lies between is known by doing it again. */
#include "run/travel/checkpoint_proof.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/formats/checkpoint/checkpoint.h"
#include "run/session/step_chain.h"

enum { HEX_CHAIN = 2 * CSE_CHAIN_BYTES + 1 };

typedef struct verifying {
    const cse_checkpoint_question *question;
    const char *path;
    const cse_checkpoint *checkpoint;
    const json_t *points; /* [step, chain] of the proof, ascending */
    const json_t *links;  /* [step, chain before it, text] likewise */
    bool is_point;        /* the checkpoint's step is one, and has its chain */
    cse_proof_check *check;
} verifying;

static int64_t step_of(const json_t *point)
{
    return json_integer_value(json_array_get(point, 0));
}

/* Its own chain, where the proof has one of that step. */
static cse_status check_own(verifying *v)
{
    size_t i;
    json_t *point;
    const int64_t step = v->checkpoint->global_step;
    if (v->checkpoint->chain == NULL)
        return cse_fail(CSE_NO_INPUT, "%s: its run had no digests of its steps (step_digests)",
                        v->path);
    json_array_foreach(v->points, i, point)
    {
        char wanted[HEX_CHAIN + 32];
        const char *digits = json_string_value(json_array_get(point, 1));
        if (step_of(point) != step)
            continue;
        snprintf(wanted, sizeof wanted, "%" PRId64 " %s", step, digits != NULL ? digits : "");
        if (strcmp(wanted, v->checkpoint->chain) != 0)
            return cse_fail(CSE_DATA, "%s: its chain of step %" PRId64 " is not that of the proof",
                            v->path, step);
        v->is_point = true;
    }
    return CSE_OK;
}

/* The step of the point that is so many behind the checkpoint, or the last one; 0: there is none.
 */
static int64_t later_point(const verifying *v, int64_t points)
{
    size_t i;
    json_t *point;
    int64_t last = 0;
    json_array_foreach(v->points, i, point)
    {
        if (step_of(point) <= v->checkpoint->global_step)
            continue;
        if (points-- <= 0)
            break;
        last = step_of(point);
    }
    return last;
}

/* "STEP CHAIN", as the checkpoint has it. */
static cse_status read_chain(const verifying *v, unsigned char chain[CSE_CHAIN_BYTES])
{
    size_t size = 0;
    const char *digits = strchr(v->checkpoint->chain, ' ');
    const bool good = digits != NULL &&
                      sodium_hex2bin(chain, CSE_CHAIN_BYTES, digits + 1, strlen(digits + 1), NULL,
                                     &size, NULL) == 0 &&
                      size == CSE_CHAIN_BYTES;
    return good ? CSE_OK : cse_fail(CSE_DATA, "%s: its chain is no chain of digests", v->path);
}

/* What enters the chain from a step on, as the proof says; NULL: it does not. */
static const char *links_at(const json_t *links, int64_t step)
{
    size_t i;
    json_t *link;
    const char *text = NULL;
    json_array_foreach(links, i, link) if (step_of(link) <= step) text =
        json_string_value(json_array_get(link, 2));
    return text;
}

static const char *chain_of_point(const verifying *v, int64_t step)
{
    size_t i;
    json_t *point;
    json_array_foreach(v->points, i, point) if (step_of(point) == step) return json_string_value(
        json_array_get(point, 1));
    return NULL;
}

/* The chain of the checkpoint, with the digests of the steps that were done again. The program that
 * did them may be of another version, which enters a run's own chain: that of the proof does here.
 */
static cse_status compare(const verifying *v, const cse_run_chain *again, int64_t last)
{
    int64_t good = v->checkpoint->global_step;
    cse_chain_step step = { .steps = 0 };
    CSE_TRY(read_chain(v, step.chain));
    for (int64_t s = good + 1; s <= last; s++) {
        char digits[HEX_CHAIN] = "";
        const cse_chain_step *row = cse_run_chain_at(again, s);
        const char *links = links_at(v->links, s), *wanted = chain_of_point(v, s);
        if (row == NULL || links == NULL)
            return cse_fail(CSE_DATA, "%s: step %" PRId64 ": %s", v->path, s,
                            row == NULL ? "it has no digests where it was done again"
                                        : "the proof does not say what it follows from");
        memcpy(step.before, step.chain, sizeof step.before);
        memcpy(step.states, row->states, sizeof step.states);
        memcpy(step.samples, row->samples, sizeof step.samples);
        step.steps = s;
        step.links = links;
        cse_step_chain_join(&step);
        if (wanted == NULL)
            continue;
        sodium_bin2hex(digits, sizeof digits, step.chain, CSE_CHAIN_BYTES);
        if (strcmp(wanted, digits) != 0)
            return cse_fail(CSE_DATA,
                            "%s: done again from it, the steps %" PRId64 " to %" PRId64
                            " lead to another chain than the proof has",
                            v->path, good + 1, s);
        good = s;
        v->check->stretches++;
    }
    return CSE_OK;
}

static cse_status do_again(const verifying *v, int64_t last)
{
    cse_replay replay;
    cse_run_chain again;
    const cse_replay_checkpoint from = { .path = v->path,
                                         .configuration = v->question->configuration,
                                         .from = v->checkpoint->global_step };
    cse_status status = cse_replay_from(
        &(cse_replay_options){ .step = last, .num_csx = v->question->num_csx, .latest = INT64_MAX },
        &from, &replay, &again);
    if (status == CSE_OK)
        status = compare(v, &again, last);
    v->check->last = last;
    v->check->steps = last - v->checkpoint->global_step;
    cse_run_chain_clear(&again);
    cse_replay_clear(&replay);
    return status;
}

static cse_status verify(verifying *v)
{
    const int64_t points = v->question->configuration != NULL ? v->question->points : 0;
    const int64_t step = v->checkpoint->global_step, last = later_point(v, points);
    CSE_TRY(check_own(v));
    v->check->first = v->check->last = step;
    if (last > 0)
        return do_again(v, last);
    if (v->is_point)
        return CSE_OK;
    return cse_fail(CSE_NO_INPUT,
                    points > 0 ? "%s: the proof ends before its step, %" PRId64
                               : "%s: the proof has no chain of its step, %" PRId64
                                 ": it is known by doing steps again, --config CONFIG.yaml",
                    v->path, step);
}

cse_status cse_checkpoint_proof_verify(const cse_checkpoint_question *question,
                                       cse_proof_check *check)
{
    json_t *proof = NULL;
    cse_checkpoint *checkpoint = NULL;
    CSE_TRY(cse_proof_read(question->proof, &proof, check));
    cse_status status = cse_checkpoint_map(question->path, &checkpoint);
    if (status == CSE_OK)
        status = verify(&(verifying){ .question = question,
                                      .path = question->path,
                                      .checkpoint = checkpoint,
                                      .points = json_object_get(proof, "points"),
                                      .links = json_object_get(proof, "links"),
                                      .check = check });
    cse_checkpoint_destroy(&checkpoint);
    json_decref(proof);
    return status;
}
