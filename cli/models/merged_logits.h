/* How much logits change where an adapter is merged: those of weights with the adapter apart beside
 * those of the file that was written, of the same few tokens. */
#ifndef CSE_CLI_MODELS_MERGED_LOGITS_H
#define CSE_CLI_MODELS_MERGED_LOGITS_H

#include "engine/base/config/yaml.h"
#include "engine/formats/weights/weights.h"

/* What the logits are computed of. */
typedef struct cse_probed {
    const char *path;        /* weights of any origin */
    const char *model;       /* {trainer: {init: {model: ...}}}, as text */
    cse_yaml_node *adapters; /* the section, with settings of folders (peft/settings.h); or NULL */
    bool any_base;
} cse_probed;

typedef struct cse_merged_logits {
    const char *missing; /* why they were not compared; NULL: they were */
    int tokens;
    double largest, range; /* the largest difference, and that of the logits themselves */
} cse_merged_logits;

/* In `arena`. Says in `missing` what failed: a comparison that cannot be made is no failure. */
void cse_merged_logits_compare(cse_arena *arena, const cse_probed *apart, const cse_probed *merged,
                               cse_merged_logits *result);

#endif
