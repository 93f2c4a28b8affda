/* Digests are compared step by step; where one differs, so does what the steps follow from, or a
 * machine or a file had a fault. */
#include "run/travel/replay_verdict.h"

#include <inttypes.h>
#include <string.h>

#include "engine/formats/checkpoint/links.h"
#include "store/reader.h"

static void tell_other(const char *model_dir, cse_replay *replay)
{
    cse_store_reader *reader = NULL;
    const char *const folders[] = { model_dir, replay->folder };
    cse_links links[2];
    cse_text differences = { 0 };
    for (int i = 0; i < 2; i++) {
        cse_text text = { 0 };
        if (cse_store_reader_open(folders[i], &reader) == CSE_OK) {
            cse_store_reader_key(reader, "links", &text);
            cse_store_reader_close(&reader);
        }
        cse_links_parse(text.data, &links[i]);
        cse_text_clear(&text);
    }
    const cse_link which = cse_links_compare(&links[0], &links[1], &differences);
    cse_text_add(&replay->words, "not the run's bits: step %" PRId64 " is the first whose %s",
                 replay->differs, replay->samples_differ ? "samples differ" : "states differ");
    if (which != CSE_LINKS)
        cse_text_add(&replay->words, "; %s: %s and %s", differences.data,
                     links[0].link[which].detail, links[1].link[which].detail);
    else
        cse_text_add(&replay->words, "; configuration, code, data and seed are the same: the "
                                     "run, the checkpoint that the replay began with, or this "
                                     "machine had a fault");
    cse_text_clear(&differences);
}

/* Before the first step there is only what the chain begins with. */
static void judge_start(const char *model_dir, const cse_run_chain *run, const cse_run_chain *again,
                        cse_replay *replay)
{
    const bool known = run->link_count > 0 && again->link_count > 0 && run->links[0].step == 1 &&
                       again->links[0].step == 1;
    if (known) {
        replay->has_chain = true;
        memcpy(replay->chain, run->links[0].before, CSE_CHAIN_BYTES);
    }
    if (!known) {
        replay->verdict = CSE_REPLAY_UNKNOWN;
        cse_text_add(&replay->words, "it cannot be said whether these are the run's bits: its "
                                     "store has no digests of its first step (step_digests)");
    } else if (memcmp(run->links[0].before, again->links[0].before, CSE_CHAIN_BYTES) == 0) {
        replay->verdict = CSE_REPLAY_SAME;
        cse_text_add(&replay->words, "these are the run's bits: its chain begins with them");
    } else {
        replay->verdict = CSE_REPLAY_OTHER;
        tell_other(model_dir, replay);
    }
}

const char *cse_replay_verdict_name(cse_replay_verdict verdict)
{
    static const char *const names[] = {
        [CSE_REPLAY_SAME] = "same", [CSE_REPLAY_UNKNOWN] = "unknown", [CSE_REPLAY_OTHER] = "other"
    };
    return names[verdict];
}

void cse_replay_judge(const char *model_dir, const cse_run_chain *run, const cse_run_chain *again,
                      cse_replay *replay)
{
    int64_t known = 0;
    if (replay->step == 0 && replay->folder[0] != '\0') {
        judge_start(model_dir, run, again, replay);
        return;
    }
    replay->verdict = CSE_REPLAY_SAME;
    for (int64_t step = replay->from + 1; step <= replay->step; step++) {
        const cse_chain_step *a = cse_run_chain_at(run, step), *b = cse_run_chain_at(again, step);
        known += a != NULL && b != NULL;
        if (a == NULL || b == NULL || cse_chain_steps_equal(a, b))
            continue;
        replay->verdict = CSE_REPLAY_OTHER;
        replay->differs = step;
        replay->samples_differ = memcmp(a->samples, b->samples, sizeof a->samples) != 0;
        tell_other(model_dir, replay);
        return;
    }
    if (known == replay->step - replay->from && (known > 0 || replay->has_chain)) {
        cse_text_add(&replay->words, "these are the run's bits: ");
        if (known > 0)
            cse_text_add(&replay->words,
                         "the digests of the %" PRId64 " steps that were done again are the "
                         "run's",
                         known);
        else
            cse_text_add(&replay->words, "its checkpoint has the chain of the run");
        return;
    }
    replay->verdict = CSE_REPLAY_UNKNOWN;
    cse_text_add(&replay->words, "it cannot be said whether these are the run's bits: ");
    if (replay->step > replay->from)
        cse_text_add(&replay->words,
                     "its store has the digests of %" PRId64 " of %" PRId64 " steps (step_digests)",
                     known, replay->step - replay->from);
    else
        cse_text_add(&replay->words, "its store or its checkpoint of the step has no chain of "
                                     "digests (step_digests)");
}
