/* What a run computes in, decided by one rule for every way to give the settings (a configuration
 * file, a ModelZoo file, the text of the C API, cstorch, flags):
 *
 *   1. `enabled: false`: float32, whatever else is set.
 *   2. `fp16_type: F`: F.
 *   3. `enabled: true` without fp16_type: bfloat16, which needs no loss scaling.
 *   4. Everything else: float32.
 *
 * So a section `precision` by itself, backend_type, and settings about what lies between
 * microbatches (weight_grad_reduce) or steps (weight_update, loss scaling, clipping) never change
 * the format. A setting that says how 16 bits are computed, as precision_opt_level, is an error
 * where the rule says float32 without being told so by `enabled: false`. */
#ifndef CSE_CONFIG_COMPUTE_FORMAT_H
#define CSE_CONFIG_COMPUTE_FORMAT_H

#include "engine/base/config/settings.h"
#include "engine/base/config/yaml.h"

typedef struct cse_compute_format {
    const char *name;    /* "bfloat16"; NULL: float32 */
    const char *setting; /* of `precision`, which decides: "fp16_type"; NULL: none is given */
} cse_compute_format;

/* Of checked settings of cse_precision_setting_table. */
cse_compute_format cse_compute_format_of(const cse_settings *precision);

/* Whether a section that is not checked yet asks for 16 bits; it may be NULL or anything. */
bool cse_compute_format_is_low(const cse_yaml_node *precision);

#endif
