/* What the parts of the decoder share: the network, and how rows of its settings are written. */
#ifndef CSE_MODELS_DECODER_PARTS_H
#define CSE_MODELS_DECODER_PARTS_H

#include <string.h>

#include "csengine/model.h"
#include "csengine/modules.h"
#include "engine/nn/models/decoder_experts.h"

enum { CSE_DECODER_KINDS = 4, CSE_DECODER_PAIRS = 512 };

/* What a batch may have besides tokens and labels. */
typedef struct cse_decoder_inputs {
    cse_tensor *positions; /* of each token, int32 [batch, time] */
    cse_tensor *span;      /* attention_span of several samples in a row, int32 [batch, time] */
} cse_decoder_inputs;

typedef struct cse_decoder {
    cse_state *words;     /* [vocab, channel] */
    cse_state *positions; /* learned: [position, channel]; relative: [bucket, head]; NULL */
    cse_norm_layer embedding_norm, last_norm;
    bool has_last_norm;
    cse_linear_layer words_in, words_out; /* weight NULL: words have hidden_size channels */
    cse_linear_layer head;                /* weight NULL: `words` */
    cse_block_module block;
    cse_block_module kinds[CSE_DECODER_KINDS];   /* of layers, made of it (decoder_layers.h) */
    double rotary_factors[2][CSE_DECODER_PAIRS]; /* of pairs of channels; those of long samples */
    double final_cap;                            /* of the logits; 0: none */
    double embedding_dropout, embeddings_scale, logits_scale;
    int layer_count;
    cse_block_layer blocks[CSE_DECODER_LAYERS];
    cse_decoder_inputs inputs; /* of the forward pass that is traced */
    cse_decoder_experts experts;
    cse_routing *routing; /* of the forward pass that is traced; NULL: it is not asked for */
} cse_decoder;

/* Whether a setting has this text. */
static inline bool cse_decoder_is_text(const cse_settings *settings, const char *name,
                                       const char *value)
{
    const char *text = cse_settings_text(settings, name);
    return text != NULL && strcmp(text, value) == 0;
}

/* ---- rows of settings ---- */

#define CSE_DECODER_ROW(name_, type_, default_, doc_)                                            \
    {                                                                                            \
        .name = (name_), .type = CSE_SETTING_##type_, .default_value = (default_), .doc = (doc_) \
    }
#define CSE_DECODER_RANGE(name_, type_, default_, min_, max_, doc_)                               \
    {                                                                                             \
        .name = (name_), .type = CSE_SETTING_##type_, .default_value = (default_), .min = (min_), \
        .max = (max_), .doc = (doc_)                                                              \
    }
#define CSE_DECODER_CHOICE(name_, default_, choices_, doc_)                       \
    {                                                                             \
        .name = (name_), .type = CSE_SETTING_CHOICE, .default_value = (default_), \
        .choices = (choices_), .doc = (doc_)                                      \
    }

#endif
