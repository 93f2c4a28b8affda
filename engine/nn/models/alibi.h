/* ALiBi's bias as the decoders use it. */
#ifndef CSE_MODELS_ALIBI_H
#define CSE_MODELS_ALIBI_H

#include <stdbool.h>

#include "csengine/model.h"

typedef struct cse_decoder_alibi_options {
    int64_t heads;
    int64_t time;   /* tokens of the pass */
    bool is_falcon; /* as Falcon was trained: see alibi.c */
    double scale;   /* of the scores; Falcon's bias is scaled with them */
} cse_decoder_alibi_options;

/* An additive mask for attention: float32 [heads, query, key], with one row for all queries where
 * that gives the same weights. Also where tokens are decoded that follow others. */
cse_tensor *cse_decoder_alibi(const cse_decoder_alibi_options *options);

#endif
