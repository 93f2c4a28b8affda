/* A folder of PEFT: adapter_config.json, and adapter_model.safetensors or adapter_model.bin, whose
 * names are those of the modules of transformers. */
#ifndef CSE_WEIGHTS_PEFT_FOLDER_H
#define CSE_WEIGHTS_PEFT_FOLDER_H

#include "engine/formats/weights/peft/config.h"
#include "engine/formats/weights/weights.h"

/* A third file, of a folder that was written here: the digest of the base (base.h). */
#define CSE_PEFT_BASE_FILE "csengine_base.json"

/* An adapted module. Positions of weights; -1: none. */
typedef struct cse_peft_module {
    const char *name; /* model.layers.0.self_attn.q_proj */
    int a, b;         /* [r, in], [out, r]; of a table: [r, rows], [channels, r] */
    int magnitude;    /* of DoRA: [out] */
    bool is_table;    /* of embeddings: its weight is [rows, channels] */
    int64_t rank;
    double scale;
} cse_peft_module;

/* A parameter that was trained as it is (modules_to_save, biases). */
typedef struct cse_peft_saved {
    const char *name; /* lm_head.weight */
    int weight;
} cse_peft_saved;

typedef struct cse_peft_folder {
    cse_arena *arena;
    const char *path;
    const char *base_digest; /* of what it was trained beside (base.h); NULL: not known */
    cse_peft_config config;
    cse_weights *weights;
    cse_peft_module *modules;
    int module_count, module_capacity;
    cse_name_index names; /* of the modules */
    cse_peft_saved *saved;
    int saved_count, saved_capacity;
} cse_peft_folder;

/* Factors fit each other and the configuration. CSE_NO_INPUT, CSE_PERMISSION, CSE_DATA.
 * cse_peft_folder_close(), also after a failure. */
cse_status cse_peft_folder_open(const char *path, cse_peft_folder **folder);
void cse_peft_folder_close(cse_peft_folder **folder);

/* Whether two names of a module are of one: one may lack the first parts of the other, which
 * programs leave out ("transformer.h.0.mlp" and "h.0.mlp"). */
bool cse_peft_is_same_module(const char *one, const char *other);

#endif
