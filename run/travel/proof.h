/* A proof of a run: its chain of digests at some steps and what its steps follow from, as a text of
 * JSON that the person who ran it has signed (Ed25519).
 *
 * Who has the proof and the run, or its folder from elsewhere, checks that the run is that of the
 * proof, and does stretches of it again. The signature says who made the proof; that the steps were
 * computed as the configuration says, the replay says alone. */
#ifndef CSE_RUN_TRAVEL_PROOF_H
#define CSE_RUN_TRAVEL_PROOF_H

#include <jansson.h>
#include <sodium.h>

#include "run/travel/replay.h"

enum { CSE_PROOF_POINTS = 64 }; /* steps whose chain stands in a proof, at most */

/* Where the keys of this user lie: $XDG_CONFIG_HOME/csengine/proof.key, or below ~/.config. */
cse_status cse_proof_key_path(char path[PATH_MAX]);

/* Adds the proof of a run to `json`. The first one makes the key. CSE_DATA where the run's own
 * chain does not hold. */
cse_status cse_proof_make(const char *model_dir, cse_text *json);

typedef struct cse_proof_check {
    char key[2 * crypto_sign_PUBLICKEYBYTES + 1]; /* of who has signed it */
    int64_t first, last; /* steps that it is of; of a checkpoint: its own, and the last one again */
    int64_t stretches;   /* that were done again */
    int64_t steps;       /* in all of them */
} cse_proof_check;

/* Checks the signature, the run's chain against the proof's, and `stretches` random stretches of
 * the run by replay. CSE_DATA: not the run of the proof, and why. */
cse_status cse_proof_verify(const char *proof, const char *model_dir, int64_t stretches,
                            int num_csx, cse_proof_check *check);

/* Reads a proof and checks its signature. *proof: what is signed; the caller's. */
cse_status cse_proof_read(const char *path, json_t **proof, cse_proof_check *check);

#endif
