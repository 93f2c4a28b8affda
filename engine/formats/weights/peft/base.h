/* The digest of what an adapter was trained beside: the weights of the layers that it adapts, by
 * our names and in our layout, in float32. A folder that is written here keeps it in the file
 * csengine_base.json, which PEFT passes over. */
#ifndef CSE_WEIGHTS_PEFT_BASE_H
#define CSE_WEIGHTS_PEFT_BASE_H

#include "engine/formats/weights/map.h"
#include "engine/formats/weights/peft/folder.h"

enum { CSE_BASE_DIGEST_BYTES = 65 };

/* Weights are added in the order of their names, each with its elements in float32. */
typedef struct cse_base_digest cse_base_digest;
cse_base_digest *cse_base_digest_new(void);
void cse_base_digest_add(cse_base_digest *digest, const char *name, cse_shape shape,
                         const float *values);
/* Frees it. */
void cse_base_digest_end(cse_base_digest **digest, char hex[CSE_BASE_DIGEST_BYTES]);

/* The same of all of these weights. */
cse_status cse_base_digest_of(cse_weights *weights, char hex[CSE_BASE_DIGEST_BYTES]);
/* The text of the file. */
const char *cse_peft_base_text(cse_arena *arena, const char *hex);
/* CSE_DATA where the folder says another digest than this; one that says none is taken. */
cse_status cse_peft_base_compare(const cse_peft_folder *folder, const char *hex, const char *base);
/* The same for weights with the names of transformers. */
cse_status cse_peft_base_check(const cse_peft_folder *folder, cse_weights *theirs,
                               const cse_map *map, const json_t *facts);

#endif
