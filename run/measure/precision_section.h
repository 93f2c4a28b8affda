/* The settings of the section `precision` that give each layer its level. */
#ifndef CSE_RUN_MEASURE_PRECISION_SECTION_H
#define CSE_RUN_MEASURE_PRECISION_SECTION_H

#include "run/measure/precision_tuning.h"

enum { CSE_MOST_PRECISION_SETTINGS = 8 };

typedef struct cse_precision_setting {
    const char *path; /* in the section: "graphamp.preset" */
    cse_text value;   /* YAML */
} cse_precision_setting;

/* Fills in the settings for layers at `levels`; returns their number. The caller releases each
 * value. */
int cse_precision_settings(const cse_tuning_options *options, const cse_tuning *tuning,
                           const int *levels, cse_precision_setting *settings);

#endif
