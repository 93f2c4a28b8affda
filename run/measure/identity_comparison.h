/* Two runs, or two checkpoints, by the links of their identities
 * (engine/formats/checkpoint/links.h): which one differs first. */
#ifndef CSE_RUN_MEASURE_IDENTITY_COMPARISON_H
#define CSE_RUN_MEASURE_IDENTITY_COMPARISON_H

#include "engine/formats/checkpoint/links.h"

typedef struct cse_identity_comparison {
    bool known;     /* both say what they came from */
    bool same;      /* in every link but the previous one */
    cse_link first; /* that differs, unless `same` */
    /* "same configuration, same code, same artefact, other data: train.csv: 20 bytes, ..." */
    cse_text words;
    bool files, same_weights; /* `files`: two checkpoints, whose tensors were compared */
} cse_identity_comparison;

/* Each of `sources` is the model_dir of a run, or both are checkpoint files. Release the comparison
 * also after a failure. */
cse_status cse_identity_compare(const char *const sources[2], cse_identity_comparison *comparison);
void cse_identity_comparison_clear(cse_identity_comparison *comparison);

#endif
