/* The tables of precision_settings.h. */
#include "engine/config/precision_settings.h"

#include <stddef.h>

const cse_setting cse_graphamp_setting_table[] = {
    { "preset", CSE_SETTING_CHOICE, "null", 0, 0, CSE_CHOICES(CSE_PRESETS),
      "mp0: off, mp1: matrix products, mp2: and the ops between them, mp3: norms and softmax "
      "stored in 16 bits, mp4: everything; null: as the precision_opt_level says",
      NULL },
    { "allow", CSE_SETTING_TEXT_LIST, "[]", 0, 0, NULL,
      "ops whose inputs are rounded to fp16_type, added to the preset's", NULL },
    { "infer", CSE_SETTING_TEXT_LIST, "[]", 0, 0, NULL,
      "ops that take the type their readers request, added to the preset's", NULL },
    { "deny", CSE_SETTING_TEXT_LIST, "[]", 0, 0, NULL,
      "ops whose types stay float32, added to the preset's", NULL },
    { 0 },
};

const cse_setting cse_pol_setting_table[] = {
    { "scope", CSE_SETTING_TEXT, NULL, 0, 0, NULL,
      "pattern of scopes, as in model.layers.3.* (* stands for any text)", NULL },
    { "level", CSE_SETTING_INTEGER, "null", 0, 2, NULL,
      "level of the forward pass, and of the backward pass unless bwd_level is given", NULL },
    { "bwd_level", CSE_SETTING_INTEGER, "null", 0, 2, NULL, "level of the backward pass", NULL },
    { "enable_fwd", CSE_SETTING_BOOL, "true", 0, 0, NULL, "false: not for the forward pass", NULL },
    { "enable_bwd", CSE_SETTING_BOOL, "true", 0, 0, NULL, "false: not for the backward pass",
      NULL },
    { 0 },
};

const cse_setting cse_numerics_setting_table[] = {
    { "every", CSE_SETTING_INTEGER, "null", 0, 2147483647.0, NULL,
      "statistics are taken on every n-th step; null or 0: never", NULL },
    { "tensors", CSE_SETTING_TEXT_LIST, "[]", 0, 0, NULL,
      "patterns of scopes or names of tensors to record besides 16-bit roundings, "
      "gradients and states, as in model.layers.3.*",
      NULL },
    { 0 },
};

const cse_setting cse_precision_setting_table[] = {
    CSE_PRECISION_SETTINGS(CSE_PRECISION_SETTING_ROW),
    { 0 },
};
