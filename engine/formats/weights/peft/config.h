/* adapter_config.json of a folder of PEFT, of an adapter of the kind LORA.
 *
 * Each key is one that is used, or one that changes nothing of what the adapter computes, or it is
 * refused by its name, with a value that would mean something else. Which layers are adapted, the
 * names of the factors say: of the patterns those of ranks and scales alone are used. */
#ifndef CSE_WEIGHTS_PEFT_CONFIG_H
#define CSE_WEIGHTS_PEFT_CONFIG_H

#include <jansson.h>

#include "csengine/status.h"

typedef struct cse_peft_config {
    const char *path; /* of the file, for messages */
    json_t *json;     /* what is in it */
    int64_t rank;
    double alpha, dropout;
    bool use_rslora, use_dora;
    bool fan_in_fan_out; /* the weights of the adapted layers are [in, out] */
    const char *bias;    /* none, all or lora_only */
} cse_peft_config;

/* `path` is kept. CSE_NO_INPUT, CSE_PERMISSION, CSE_DATA. Cleared also after a failure. */
cse_status cse_peft_config_read(const char *path, cse_peft_config *config);
void cse_peft_config_clear(cse_peft_config *config);

/* The rank of a module, its lora_alpha, and what the product of its factors is multiplied by. */
int64_t cse_peft_config_rank(const cse_peft_config *config, const char *module);
double cse_peft_config_alpha(const cse_peft_config *config, const char *module);
double cse_peft_config_scale(const cse_peft_config *config, const char *module);

#endif
