/* The setting `moe` of the decoders: a mixture of experts, under the ModelZoo's names. */
#ifndef CSE_MODELS_DECODER_EXPERTS_H
#define CSE_MODELS_DECODER_EXPERTS_H

#include "csengine/modules.h"

enum { CSE_DECODER_LAYERS = 256 };

typedef struct cse_decoder_experts {
    cse_experts_module module; /* count 0: there are none */
    int64_t step;              /* every so many layers have experts, the first of them last */
    bool is_plain[CSE_DECODER_LAYERS]; /* layers that have none in any case */
    double balancing;                  /* factor of the balancing loss; 0: none */
    bool of_each_sample;               /* its means, not over the microbatch */
} cse_decoder_experts;

/* `block` says what the experts share with other networks. CSE_CONFIG names the setting. */
cse_status cse_decoder_experts_read(const cse_settings *settings, const cse_block_module *block,
                                    int layers, cse_decoder_experts *experts);
/* The experts of a layer; NULL: it has none. */
const cse_experts_module *cse_decoder_experts_of(const cse_decoder_experts *experts, int layer);

#endif
