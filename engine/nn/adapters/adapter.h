/* An adapter: few parameters beside those of a model, which alone are trained (PEFT's words).
 *
 * LoRA (Hu et al. 2021): a linear layer that is a target computes
 *
 *   y = x W^T + b + s (dropout(x) A^T) B^T,   A [r, in], B [out, r], s = lora_alpha / r
 *
 * of which W and b stay as they are. A begins uniform in +-1/sqrt(in), B at 0, so that the model
 * begins as it was. With use_rslora s = lora_alpha / sqrt(r) (Kalajdzievski 2023);
 * loraplus_lr_ratio is the learning rate of B over that of A (Hayou et al. 2024).
 *
 * The network has the adapter (network.h), a model takes it when it is built: each linear layer
 * that csengine/model.h or csengine/modules.h declares asks whether it is a target. */
#ifndef CSE_ENGINE_NN_ADAPTERS_ADAPTER_H
#define CSE_ENGINE_NN_ADAPTERS_ADAPTER_H

#include "csengine/model.h"
#include "engine/base/arena.h"
#include "engine/base/config/adapter_settings.h"

typedef struct cse_adapter {
    const cse_adapter_settings *given;
    cse_arena *arena;
    unsigned *found;     /* of the list given->targets: layers that each has met */
    const char **linear; /* names of linear layers that were declared */
    int linear_count, linear_capacity;
    int adapted; /* of them */
    bool off;    /* layers that are traced now compute without their factors */
} cse_adapter;

/* The two factors beside a linear layer. */
typedef struct cse_low_rank {
    const cse_model *model;
    cse_state *a, *b;
    double scale, dropout;
} cse_low_rank;

/* Of the section `adapters`, in `arena`; NULL where there is none. CSE_CONFIG. */
cse_status cse_adapter_read(cse_arena *arena, cse_yaml_node *tree, cse_adapter **adapter);

/* Whether a parameter of the model itself is trained with the adapter. */
bool cse_adapter_trains(const cse_adapter *adapter, const char *parameter);
/* Notes a linear layer of the model that is built; whether it is a target. */
bool cse_adapter_meets(cse_adapter *adapter, const char *layer);
/* Declares the factors of a linear layer of the model that is built; NULL: it is no target. */
const cse_low_rank *cse_adapter_declare(cse_model *model, const char *layer, int64_t in,
                                        int64_t out);
/* A parameter that is trained, in `build`: of an adapter. */
cse_state *cse_model_adapter_parameter(cse_model *model, const char *name, cse_shape shape,
                                       cse_initializer initializer);
/* Whether there are factors, and they are not turned off. */
bool cse_low_rank_is_on(const cse_low_rank *factors);
/* s (dropout(x) A^T) B^T, traced. */
cse_tensor *cse_low_rank_apply(const cse_low_rank *factors, cse_tensor *x);
/* CSE_WITHOUT_ADAPTERS(model) { reference = cse_forward(model, x); }: what is traced in the block
 * is the model as it was before its adapter: no factor is read, so that no gradient comes of it.
 * What the adapter trains of the model itself (modules_to_save, biases) has no earlier values: with
 * such an adapter, with none, or within another such block the step fails with CSE_USAGE. Dropout
 * and the like of the model are as its mode says (cse_eval_mode). Do not leave the block by break,
 * return or goto. */
#define CSE_WITHOUT_ADAPTERS(model)                                                   \
    CSE_REGION(CSE_REGION_NAME(cse_adapters_off_, __LINE__), cse_adapters_off(model), \
               cse_adapters_on(model))
void cse_adapters_off(cse_model *model);
void cse_adapters_on(cse_model *model);
/* After the model is built: every target has met a layer. CSE_CONFIG, with the nearest names. */
cse_status cse_adapter_check(const cse_adapter *adapter);

#endif
