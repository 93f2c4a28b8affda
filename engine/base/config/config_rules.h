/* Constraints between settings of CONFIG.yaml. */
#ifndef CSE_CONFIG_CONFIG_RULES_H
#define CSE_CONFIG_CONFIG_RULES_H

#include "csengine/extend.h"
#include "engine/base/diagnostics.h"

/* Checks the constraints within each section; skips sections that have an error already. */
cse_status cse_config_check_rules(const cse_settings *trainer, cse_diagnostics *diagnostics);

/* The same within the section `precision`, which the C API takes as well. */
cse_status cse_config_check_precision(const cse_settings *precision, cse_diagnostics *diagnostics);

/* Whether a text may stand in job_labels: key=value, each of 1 to 63 letters, digits, inner -_. */
bool cse_config_is_label(const char *label);

#endif
