/* Whether a checkpoint, without its run, is one of the run of a proof. */
#ifndef CSE_RUN_TRAVEL_CHECKPOINT_PROOF_H
#define CSE_RUN_TRAVEL_CHECKPOINT_PROOF_H

#include "run/travel/proof.h"

typedef struct cse_checkpoint_question {
    const char *proof, *path;
    const char *configuration; /* a file: that of the run; NULL: nothing is done again */
    int64_t points;            /* of the proof behind the checkpoint that are reached */
    int num_csx;               /* 0: as the configuration says */
} cse_checkpoint_question;

/* Checks the signature, the checkpoint's chain against the proof's, and by replay the steps from it
 * up to the proof's next points: these tell as well whether its states are those of the chain.
 * CSE_DATA: not of the run of the proof, and why. CSE_NO_INPUT where the checkpoint has no chain,
 * or the proof says nothing of its step and none is to be done again. */
cse_status cse_checkpoint_proof_verify(const cse_checkpoint_question *question,
                                       cse_proof_check *check);

#endif
