/* The descriptor of a quantization scheme, and what schemes share. */
#ifndef CSE_WEIGHTS_QUANTIZATION_H
#define CSE_WEIGHTS_QUANTIZATION_H

#include <jansson.h>

#include "engine/base/types/packed/packed.h"
#include "engine/formats/weights/weights.h"

enum { CSE_QUANTIZED_PARTS = 8 };

/* One packed matrix. */
typedef struct cse_quantized {
    const struct cse_quantization *scheme;
    cse_weights *from;
    const json_t *config;           /* quantization_config */
    const char *name;               /* of the matrix, for messages */
    size_t stem;                    /* of the name: what is in front of the ends */
    int parts[CSE_QUANTIZED_PARTS]; /* of from's weights, as `ends` has them; -1: missing */
    cse_shape shape;                /* of the matrix, [out, in] */
    const cse_packed_type *packed;  /* of the blocks that it can be kept as; NULL: none */
    const char *why_unpacked;
} cse_quantized;

/* A key of quantization_config. `only`: values that are accepted, as JSON without blanks, separated
 * by blanks; NULL: any, since it changes no value. */
typedef struct cse_quantization_key {
    const char *name, *only;
} cse_quantization_key;

typedef struct cse_quantization {
    const char *method; /* quant_method of the configuration */
    /* What stands behind the name of a layer, or of a matrix, in the names of its tensors; the
     * first tells that there is one, with the second where it has no end. NULL ends them. */
    const char *ends[CSE_QUANTIZED_PARTS];
    const char *result; /* behind it in the name of the matrix */
    const cse_quantization_key *keys;
    /* Checks types and shapes, and sets the matrix's shape. CSE_DATA. */
    cse_status (*check)(cse_quantized *q);
    cse_status (*unpack)(const cse_quantized *q, float *to);
    /* Whether its values are those of blocks of a packed type (base/types/packed/packed.h): sets
     * q->packed, or else q->why_unpacked; and the blocks. */
    cse_status (*choose)(cse_quantized *q);
    cse_status (*pack)(const cse_quantized *q, unsigned char *blocks);
} cse_quantization;

extern const cse_quantization cse_quantization_gptq, cse_quantization_awq,
    cse_quantization_bitsandbytes_4, cse_quantization_bitsandbytes_8;

/* ---- for the schemes ---- */

const cse_weight *cse_quantized_part(const cse_quantized *q, int part);
/* All elements of a part as another type; free(*elements). */
cse_status cse_quantized_read(const cse_quantized *q, int part, cse_element element,
                              void **elements);
/* An integer of the configuration, or what it is without it. */
int64_t cse_quantized_setting(const cse_quantized *q, const char *name, int64_t otherwise);
/* Sets q->packed to a type whose blocks are a part of a row, or else says why not. */
void cse_quantized_keep(cse_quantized *q, const cse_packed_type *type);
cse_status cse_quantized_refuse(const cse_quantized *q, int part, const char *what);

#endif
