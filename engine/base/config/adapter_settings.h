/* Settings of adapters (section `adapters`), with PEFT's names. engine/nn/adapters says what they
 * mean for a model. */
#ifndef CSE_CONFIG_ADAPTER_SETTINGS_H
#define CSE_CONFIG_ADAPTER_SETTINGS_H

#include "engine/base/config/settings.h"

/* Of one adapter, {peft_type: LORA, r: 8, ...}. */
extern const cse_setting cse_adapter_setting_table[];

typedef struct cse_adapter_settings {
    const char *name;
    const cse_settings *settings; /* of the table above */
    cse_yaml_node *targets;       /* target_modules: a list of names, or one text */
    cse_yaml_node *also_trained;  /* modules_to_save: a list of names; NULL: none */
    int64_t rank;                 /* r */
    double scale;                 /* of what the factors add: lora_alpha / r, or / sqrt(r) */
} cse_adapter_settings;

/* Reads {NAME: {peft_type: LORA, ...}}, in `arena`; a null or empty mapping gives NULL.
 * CSE_CONFIG. */
cse_status cse_adapter_settings_read(cse_arena *arena, cse_yaml_node *tree,
                                     cse_adapter_settings **adapter);
/* Of the text of a configuration, {trainer: {init: {adapters: ...}}}; NULL: it has none. */
cse_status cse_adapter_settings_of(cse_arena *arena, const char *configuration,
                                   cse_adapter_settings **adapter);

#endif
