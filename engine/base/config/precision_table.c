/* The tables of precision_settings.h. */
#include "engine/base/config/precision_settings.h"

#include <stddef.h>

#include "engine/base/types/weight_update.h"

#define UNBOUNDED 1e300
/* Steps are signed 32-bit numbers in the reference; the same bound keeps files compatible. */
#define MAX_STEPS 2147483647.0

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
    { "every", CSE_SETTING_INTEGER, "null", 0, MAX_STEPS, NULL,
      "statistics are taken on every n-th step; null or 0: never", NULL },
    { "tensors", CSE_SETTING_TEXT_LIST, "[]", 0, 0, NULL,
      "patterns of scopes or names of tensors to record besides 16-bit roundings, "
      "gradients and states, as in model.layers.3.*",
      NULL },
    { "values", CSE_SETTING_TEXT, "null", 0, 0, NULL,
      "a regular expression of names, or of ends of them behind a dot: on these steps all "
      "values of such tensors are written to model_dir/values",
      NULL },
    { "microbatches", CSE_SETTING_INTEGER_LIST, "[]", 0, 1e9, NULL,
      "of what a microbatch computes, values are those of these alone, from 0; []: of all", NULL },
    { 0 },
};

const cse_setting cse_precision_setting_table[] = {
    { "enabled", CSE_SETTING_BOOL, "null", 0, 0, NULL,
      "false: float32 throughout, whatever else is set; null: true where fp16_type is given",
      NULL },
    { "fp16_type", CSE_SETTING_CHOICE, "null", 0, 0, CSE_CHOICES(CSE_LOW_FORMATS),
      "the 16-bit format of mixed precision; null: float32 throughout", NULL },
    { "precision_opt_level", CSE_SETTING_INTEGER, "1", 0, 2, NULL,
      "POL of the model: 0 permits sums in float32 only, 1 and 2 permit rounding between tiles of "
      "long sums",
      NULL },
    { "tiling_accum", CSE_SETTING_CHOICE, "null", 0, 0, CSE_CHOICES(CSE_TILING_ROUNDINGS),
      "what is permitted between the tiles of a product; null: as the precision_opt_level says",
      NULL },
    { "tile_length", CSE_SETTING_INTEGER, "64", 1, 1 << 20, NULL,
      "terms of a long sum that are added in float32 before it is rounded", NULL },
    { "emulate_accumulation", CSE_SETTING_BOOL, "false", 0, 0, NULL,
      "true: sums are executed as POL and tiling_accum permit, rounded between tiles, bit for bit; "
      "false: they are executed in float32, whatever is permitted",
      NULL },
    { "graphamp", CSE_SETTING_SETTINGS, "{}", 0, 0, NULL, "which ops run in fp16_type",
      cse_graphamp_setting_table },
    { "disable_graphamp", CSE_SETTING_TEXT_LIST, "[]", 0, 0, NULL,
      "patterns of scopes that keep the types they are written with, as in model.head*", NULL },
    { "pol", CSE_SETTING_ANY, "[]", 0, 0, NULL,
      "levels of parts of the model: [{scope: PATTERN, level: 0, bwd_level: 1}]; the last match "
      "wins",
      NULL },
    { "weight_grad_reduce", CSE_SETTING_CHOICE, "fp32", 0, 0, CSE_CHOICES(CSE_ROUNDINGS),
      "format that partial sums of gradients are rounded to in the reduction tree", NULL },
    { "gradient_sums", CSE_SETTING_CHOICE, "microbatch", 0, 0, "microbatch|sample",
      "sample: gradients are computed and added sample by sample, so that micro_batch_size, a "
      "power "
      "of two, changes no bit of them: of adapters alone",
      NULL },
    { "weight_update", CSE_SETTING_CHOICE, "fp32", 0, 0, CSE_CHOICES(CSE_WEIGHT_UPDATES),
      "how weights are kept between steps: rounded to nearest, stochastically, or to nearest with "
      "the rounding error kept and added to the next update (Kahan)",
      NULL },
    { "loss_scaling_factor", CSE_SETTING_TEXT, "1.0", 0, 0, NULL,
      "dynamic, or the number that the loss is multiplied by; 0 and 1: no loss scaling", NULL },
    { "initial_loss_scale", CSE_SETTING_NUMBER, "null", 0, UNBOUNDED, NULL,
      "first scale of dynamic loss scaling; null: the largest", NULL },
    { "steps_per_increase", CSE_SETTING_INTEGER, "2000", 1, MAX_STEPS, NULL,
      "finite steps after which the dynamic scale doubles", NULL },
    { "min_loss_scale", CSE_SETTING_NUMBER, "null", 6.103515625e-05, UNBOUNDED, NULL,
      "least dynamic scale; null: 2^-14", NULL },
    { "max_loss_scale", CSE_SETTING_NUMBER, "null", 6.103515625e-05, UNBOUNDED, NULL,
      "largest dynamic scale; null: 2^15, and 2^31 with fp16_type cbfloat16", NULL },
    { "overflow_tolerance", CSE_SETTING_NUMBER, "0", 0, 1, NULL,
      "share of overflowing steps above which the dynamic scale halves", NULL },
    { "log_loss_scale", CSE_SETTING_BOOL, "null", 0, 0, NULL,
      "record loss_scale as a series; null: where it is dynamic", NULL },
    { "max_gradient_norm", CSE_SETTING_NUMBER, "null", 0, UNBOUNDED, NULL,
      "gradients are scaled down to this global norm", NULL },
    { "max_gradient_value", CSE_SETTING_NUMBER, "null", 0, UNBOUNDED, NULL,
      "gradient elements are clamped to plus and minus this", NULL },
    { 0 },
};
