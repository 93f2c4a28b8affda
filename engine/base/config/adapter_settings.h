/* Settings of adapters (section `adapters`), with PEFT's names: {NAME: {peft_type: LORA, r: 8},
 * ..., active: NAME}. engine/nn/adapters says what they mean for a model. */
#ifndef CSE_CONFIG_ADAPTER_SETTINGS_H
#define CSE_CONFIG_ADAPTER_SETTINGS_H

#include "engine/base/config/settings.h"

/* Of one adapter. */
extern const cse_setting cse_adapter_setting_table[];

typedef struct cse_adapter_settings {
    const char *name;
    const cse_settings *settings; /* of the table above */
    cse_yaml_node *targets;       /* target_modules: a list of names, or one text */
    cse_yaml_node *excluded;      /* exclude_modules: the same; NULL: none */
    cse_yaml_node *also_trained;  /* modules_to_save: a list of names; NULL: none */
    const char *path;             /* a folder of PEFT whose factors it begins with; NULL: none */
    bool use_dora;
    bool is_active;                    /* it is applied, and trained */
    bool is_alone;                     /* there is no other one */
    struct cse_adapter_settings *next; /* NULL: it is the last one */
} cse_adapter_settings;

/* Reads the section, in `arena`; a null or empty mapping gives NULL. CSE_CONFIG. */
cse_status cse_adapter_settings_read(cse_arena *arena, cse_yaml_node *tree,
                                     cse_adapter_settings **adapters);
/* Of the text of a configuration, {trainer: {init: {adapters: ...}}}; NULL: it has none. */
cse_status cse_adapter_settings_of(cse_arena *arena, const char *configuration,
                                   cse_adapter_settings **adapters);
/* The one with a name; NULL: there is none. */
cse_adapter_settings *cse_adapter_settings_find(cse_adapter_settings *adapters, const char *name);

/* A linear layer, by its name here and that in another program's model (NULL: it has none). */
typedef struct cse_adapted_layer {
    const char *ours, *theirs;
} cse_adapted_layer;

/* How a layer is met by a list of names or ends of names, or by an expression of names. */
typedef enum cse_met { CSE_NOT_MET, CSE_MET_BY_THEIRS, CSE_MET_BY_OURS } cse_met;
/* `modules`: NULL meets none. Of a list each entry's count grows that is met; `counts` may be NULL.
 */
cse_met cse_adapter_names_meet(const cse_yaml_node *modules, cse_adapted_layer layer,
                               unsigned *counts);

/* r, or what rank_pattern has for the layer; lora_alpha likewise; and what the factors' product is
 * multiplied by: lora_alpha / r, or with use_rslora / sqrt(r). */
int64_t cse_adapter_rank(const cse_adapter_settings *adapter, cse_adapted_layer layer);
double cse_adapter_alpha(const cse_adapter_settings *adapter, cse_adapted_layer layer);
double cse_adapter_scale(const cse_adapter_settings *adapter, cse_adapted_layer layer);
/* The name of a factor's state beside a layer, "A", "B" or of DoRA its magnitude, without what
 * comes before the layer; with several adapters the name of its own is a part of it. */
const char *cse_adapter_factor_name(cse_arena *arena, const cse_adapter_settings *adapter,
                                    const char *layer, const char *factor);
/* The layer that a state of such a name is beside; NULL: it is no such factor of this adapter. */
const char *cse_adapter_factor_layer(cse_arena *arena, const cse_adapter_settings *adapter,
                                     const char *name, const char *factor);
#define CSE_FACTOR_A "lora_A"
#define CSE_FACTOR_B "lora_B"
#define CSE_FACTOR_MAGNITUDE "lora_magnitude_vector"

#endif
