/* The chain of digests of a run's steps, by which a replay knows that it has the run's bits.
 *
 * Each step of training adds
 *
 *     states    the digest of its new states: BLAKE2b-128 of the digests of their chunks
 *               (workers/arena/state_digests.h), which workers make as they update
 *     samples   the digest of its batch: BLAKE2b-128 of the number of each sample and its epoch
 *     chain     BLAKE2b-256 of the chain before it, the step, both digests, and the links of
 *               configuration, code, data and seed (engine/formats/checkpoint/links.h)
 *
 * so the chain after a step stands for all steps up to it. It begins with the digests of the
 * states that training began with. None of these depends on the number of processes or hosts, nor
 * on kills and resumes. The run store has a row a step, and a checkpoint the chain after its step;
 * a run that goes on from a checkpoint without one begins a chain there.
 *
 * Digests of chunks are no cryptographic ones: they find what went wrong, not who made states for
 * the digest. What a checkpoint holds is sealed by BLAKE2b. */
#ifndef CSE_RUN_SESSION_STEP_CHAIN_H
#define CSE_RUN_SESSION_STEP_CHAIN_H

#include "dataloader/input.h"
#include "engine/formats/checkpoint/links.h"
#include "run/session/observer.h"

/* Checkpoint closures of a caller's own loop may ask for the chain some steps later. */
enum { CSE_CHAIN_KEPT = 64, CSE_CHAIN_TEXT_BYTES = 96, CSE_CHAIN_LINKS_BYTES = 512 };

typedef struct cse_step_chain {
    bool known; /* `steps` and `chain` are those of the newest step */
    int64_t steps;
    unsigned char chain[CSE_CHAIN_BYTES];
    crypto_generichash_state beginning; /* of the first states, while `begins` */
    bool begins;
    struct {
        int64_t sequence; /* 1 + steps; 0: none */
        unsigned char chain[CSE_CHAIN_BYTES];
    } kept[CSE_CHAIN_KEPT];
    char text[CSE_CHAIN_TEXT_BYTES], links[CSE_CHAIN_LINKS_BYTES];
} cse_step_chain;

/* A training begins after `steps` steps, unless the chain already stands there: then all its states
 * are added, in their order, by the digest of each (range_digest.h). */
void cse_step_chain_begin(cse_step_chain *chain, int64_t steps);
void cse_step_chain_add_state(cse_step_chain *chain, const char *name, uint64_t digest);
void cse_step_chain_begun(cse_step_chain *chain);

/* Adds a step that has digests, and gives what it added, whose links are borrowed until the next
 * call. A coordinator's successor goes on from the chain that its arena holds. */
void cse_step_chain_add(cse_step_chain *chain, const cse_links *links, const cse_dataloader *loader,
                        const cse_record *record, cse_chain_step *added);

/* The chain after a step as a checkpoint has it, borrowed until the next call; NULL: not known. */
const char *cse_step_chain_text(cse_step_chain *chain, int64_t steps);
/* Goes on from that of a checkpoint of that step; NULL: it has none. */
void cse_step_chain_take(cse_step_chain *chain, const char *text, int64_t steps);

/* The digest of the samples of a step, from 0, of `sample_count` in the data. */
void cse_step_samples_digest(const cse_batching *batching, int64_t sample_count, int64_t step,
                             unsigned char digest[CSE_CHAIN_PART_BYTES]);
/* What a step adds to the chain, as `links` and both digests of *step say: fills step->chain. */
void cse_step_chain_join(cse_chain_step *step);

#endif
