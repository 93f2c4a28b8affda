/* Adapters: few parameters beside those of a model, which alone are trained (PEFT's words).
 *
 * LoRA (Hu et al. 2021): a linear layer that is a target computes
 *
 *   y = x W^T + b + s (dropout(x) A^T) B^T,   A [r, in], B [out, r], s = lora_alpha / r
 *
 * of which W and b stay as they are. A begins uniform in +-1/sqrt(in), B at 0, so that the model
 * begins as it was. With use_rslora s = lora_alpha / sqrt(r) (Kalajdzievski 2023);
 * loraplus_lr_ratio is the learning rate of B over that of A (Hayou et al. 2024). DoRA (Liu et al.
 * 2024) has the norms of the rows of an adapted weight as parameters m besides (magnitude.c).
 *
 * A target is met by a layer as in PEFT: by its whole name or the end of it after a dot, or by an
 * expression that matches the whole name; the name is that here, or that of the module in the model
 * of another program that holds the layer. Where that module holds several layers of ours (queries,
 * keys and values in one), it has one factor A there, which they share here.
 *
 * Several adapters may be declared; those that are active are applied and trained, the others stay
 * as they are. The network has them (network.h), a model takes them when it is built: each linear
 * layer that csengine/model.h or csengine/modules.h declares asks whether it is a target. */
#ifndef CSE_ENGINE_NN_ADAPTERS_ADAPTER_H
#define CSE_ENGINE_NN_ADAPTERS_ADAPTER_H

#include "csengine/model.h"
#include "engine/base/arena.h"
#include "engine/base/config/adapter_settings.h"

/* What another program calls the parameters of a model. */
typedef struct cse_parameter_names {
    /* Its name of a parameter of ours, both without "model."; NULL: it has none. *is_part: it holds
     * others of ours as well. */
    const char *(*of)(const void *self, const char *parameter, bool *is_part);
    const void *self;
} cse_parameter_names;

/* A factor A that several layers have. */
typedef struct cse_shared_factor {
    const char *theirs;
    cse_state *a;
} cse_shared_factor;

typedef struct cse_adapter {
    const cse_adapter_settings *given;
    cse_arena *arena;
    const cse_parameter_names *names; /* of the model that is built; NULL: no other program's */
    /* Of the lists of `given`: layers and parameters that each entry has met. */
    unsigned *found, *excluded, *saved;
    const char **linear; /* names of linear layers that were declared */
    int linear_count, linear_capacity;
    int adapted; /* of them */
    cse_shared_factor *shared;
    int shared_count, shared_capacity;
    bool off;                 /* layers that are traced now compute without their factors */
    struct cse_adapter *next; /* NULL: it is the last one */
} cse_adapter;

/* What an active adapter has beside a linear layer. */
typedef struct cse_low_rank {
    const cse_model *model;
    cse_state *a, *b;
    cse_state *magnitude; /* of DoRA; else NULL */
    double scale, dropout;
    const struct cse_low_rank *next; /* of another adapter that is active; NULL: none */
} cse_low_rank;

/* Of the section `adapters`, in `arena`; NULL where there is none. CSE_CONFIG. */
cse_status cse_adapter_read(cse_arena *arena, cse_yaml_node *tree, cse_adapter **adapter);
void cse_adapter_clear(cse_adapter *adapter);

/* Whether a parameter of the model itself is trained with the adapters. */
bool cse_adapter_trains(cse_adapter *adapter, const char *parameter);
/* Whether a linear layer is a target. */
bool cse_adapter_is_target(cse_adapter *adapter, const char *layer);
/* The same of a layer of the model that is built, which is noted. */
bool cse_adapter_meets(cse_adapter *adapter, const char *layer);
/* Its names; *is_part: its module holds others, too, and is meant as one. */
cse_adapted_layer cse_adapter_layer(const cse_adapter *adapter, const char *layer, bool *is_part);
/* Declares the factors of a linear layer of the model that is built. Those of active adapters;
 * NULL: it is no target of one. */
const cse_low_rank *cse_adapter_declare(cse_model *model, const char *layer, int64_t in,
                                        int64_t out);
/* A parameter of an adapter, in `build`. */
cse_state *cse_model_adapter_parameter(cse_model *model, const char *name, cse_shape shape,
                                       cse_initializer initializer, bool trained);
/* Whether there are factors, and they are not turned off. */
bool cse_low_rank_is_on(const cse_low_rank *factors);
/* s (dropout(x) A^T) B^T, traced, of all of them. */
cse_tensor *cse_low_rank_apply(const cse_low_rank *factors, cse_tensor *x);
/* Declares m of a layer of the model that is built, of as many elements as its weight has rows. */
cse_state *cse_magnitude_declare(cse_model *model, const cse_adapter *adapter, const char *layer,
                                 int64_t out);
/* A layer with DoRA. */
cse_tensor *cse_magnitude_apply(cse_linear_layer layer, cse_tensor *x);
/* CSE_WITHOUT_ADAPTERS(model) { reference = cse_forward(model, x); }: what is traced in the block
 * is the model as it was before its adapters: no factor is read, so that no gradient comes of it.
 * What an adapter trains of the model itself (modules_to_save, biases) has no earlier values: with
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
