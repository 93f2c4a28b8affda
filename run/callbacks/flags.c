/* One table for the three; which flag is of which scope says
 * engine/base/config/callback_flags.c. */
#include "run/callbacks/flags.h"

#include <string.h>

#define NO_MEMORY "no effect: a process takes the memory that its part of the step needs"

const cse_setting cse_flag_settings[] = {
    { .name = "csx.precision.optimization_level",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .max = 2,
      .doc = "precision.precision_opt_level, where there is a fp16_type; of the training step" },
    { .name = "csx.performance.micro_batch_size",
      .type = CSE_SETTING_ANY,
      .default_value = "null",
      .doc = "micro_batch_size of the data loaders; auto, explore and null leave it" },
    { .name = "csx.performance.transfer_processes",
      .type = CSE_SETTING_ANY,
      .default_value = "null",
      .doc = "no effect: processes share memory, and nothing is transferred" },
    { .name = "csx.debug.execute_crd_memory_gi",
      .type = CSE_SETTING_ANY,
      .default_value = "null",
      .doc = NO_MEMORY },
    { .name = "csx.debug.compile_crd_memory_gi",
      .type = CSE_SETTING_ANY,
      .default_value = "null",
      .doc = NO_MEMORY },
    { .name = "csx.debug.wrk_memory_gi",
      .type = CSE_SETTING_ANY,
      .default_value = "null",
      .doc = NO_MEMORY },
    { .name = "csx.debug.act_memory_gi",
      .type = CSE_SETTING_ANY,
      .default_value = "null",
      .doc = NO_MEMORY },
    { .name = "csx.debug.cmd_memory_gi",
      .type = CSE_SETTING_ANY,
      .default_value = "null",
      .doc = NO_MEMORY },
    { .name = "csx.debug.wgt_memory_gi",
      .type = CSE_SETTING_ANY,
      .default_value = "null",
      .doc = NO_MEMORY },
    { .name = "csx.debug.chf_memory_gi",
      .type = CSE_SETTING_ANY,
      .default_value = "null",
      .doc = NO_MEMORY },
    { .name = NULL },
};

static const char no_effect[] = "no effect";

cse_status cse_flags_setup(const cse_settings *settings, cse_callback_host *host, void **self)
{
    *self = NULL;
    for (const cse_setting *flag = cse_flag_settings; flag->name != NULL; flag++)
        if (cse_settings_has(settings, flag->name) &&
            strncmp(flag->doc, no_effect, sizeof no_effect - 1) == 0)
            cse_callback_tell(host, "%s: %s", flag->name, flag->doc);
    return CSE_OK;
}
