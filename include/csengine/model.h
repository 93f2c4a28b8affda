/* How to write a model: a descriptor with its settings, its parameters and its forward function.
 *
 * A model of the engine is a file of engine/nn/models; one of your own stands in your program
 * (cse_model_define) or in a shared object that offers it by CSE_PLUGINS (cse_model_load, or
 * `model: {library: ./x.so, name: <name>}` in a configuration). */
#ifndef CSENGINE_MODEL_H
#define CSENGINE_MODEL_H

#include "csengine/plugin.h"
#include "csengine/train.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CSE_MODEL_ABI = 2 };

typedef struct cse_model_descriptor {
    const char *name;
    const char *summary;
    const cse_setting *settings;
    int abi; /* CSE_MODEL_ABI */

    size_t self_bytes; /* size of what cse_model_self returns; zeroed before `build` */

    /* Declares the parameters (cse_parameter) and keeps their handles in cse_model_self. */
    cse_status (*build)(cse_model *model, const cse_settings *settings);

    /* Traces the outputs for one input. */
    cse_tensor *(*forward)(cse_model *model, cse_tensor *input);

    /* Traces the loss and, where asked, the predictions; NULL: see cse_model_loss. */
    cse_tensor *(*loss)(cse_model *model, cse_step *step, cse_tensor **predictions);
} cse_model_descriptor;

/* Samples of the step's batch, over all microbatches, and of one microbatch: smaller ones in a last
 * batch that is not left out. */
CSE_API int64_t cse_step_batch_size(const cse_step *step);
CSE_API int64_t cse_step_micro_batch_size(const cse_step *step);

/* A row of CSE_PLUGINS. */
#define CSE_MODEL_PLUGIN(descriptor) \
    CSE_PLUGIN_ROW("model", CSE_MODEL_ABI, const cse_model_descriptor, descriptor)

/* Borrowed: the model's own struct; its settings, checked against the descriptor's table. */
CSE_API void *cse_model_self(cse_model *model);
CSE_API const cse_settings *cse_model_settings_view(const cse_model *model);
CSE_API bool cse_is_training(const cse_model *model);

/* Declares the trainable float32 state model.<name>; only in `build`. NULL after an error. */
CSE_API cse_state *cse_parameter(cse_model *model, const char *name, cse_shape shape,
                                 cse_initializer initializer);
/* A state of the model that no optimizer changes. */
CSE_API cse_state *cse_buffer(cse_model *model, const char *name, cse_shape shape,
                              cse_initializer initializer);

/* The learning rate of a parameter is `factor` times that of its group, as in muP; in `build`. */
CSE_API void cse_parameter_rate(cse_state *parameter, double factor);
/* A parameter of a norm: where a configuration trains the model, its weight decay is 0, as that of
 * parameters with "bias" in their names. The norms of csengine/modules.h say it themselves. */
CSE_API void cse_parameter_of_norm(cse_state *parameter);

/* Parameters that are declared from now on and whose names match the extended regular expression
 * are not trained: they become buffers. CSE_CONFIG for an expression that is none. */
CSE_API cse_status cse_model_freeze(cse_model *model, const char *pattern);

/* A text that lives as long as the model; for names that are put together of parts. */
CSE_API const char *cse_model_text(cse_model *model, const char *format, ...) CSE_PRINTF(2, 3);

/* A fully connected layer: y = x weight^T + bias. */
typedef struct cse_linear_layer {
    cse_state *weight;                  /* [out, in] */
    cse_state *bias;                    /* [out], or NULL */
    const struct cse_low_rank *adapter; /* what an adapter adds; NULL: nothing */
} cse_linear_layer;

/* Declares <name>.weight and, with `bias`, <name>.bias, initialised as PyTorch's Linear: uniform in
 * +-1/sqrt(in). */
CSE_API cse_linear_layer cse_linear_parameters(cse_model *model, const char *name, int64_t in,
                                               int64_t out, bool bias);
/* x: [batch, in]; result: [batch, out]. */
CSE_API cse_tensor *cse_apply_linear(cse_linear_layer layer, cse_tensor *x);

/* A batch norm layer (Ioffe, Szegedy 2015). momentum and epsilon may be changed before it is
 * applied. */
typedef struct cse_batch_norm_layer {
    cse_state *weight, *bias;              /* [channels] */
    cse_state *running_mean, *running_var; /* [channels]; no optimizer changes them */
    double momentum;                       /* share of a step in the running statistics; 0.1 */
    double epsilon;                        /* is added to the variance; 1e-5 */
} cse_batch_norm_layer;

/* Declares <name>.weight (1), .bias (0), .running_mean (0) and .running_var (1), as PyTorch's
 * BatchNorm. */
CSE_API cse_batch_norm_layer cse_batch_norm_parameters(cse_model *model, const char *name,
                                                       int64_t channels);
/* x [batch, channel, ...] normalized for each channel; the result has its shape. Training: by the
 * mean and variance of the microbatch, as PyTorch does on each device, and the running statistics
 * move by `momentum` towards the mean over the microbatches of mean and variance (the latter with
 * the divisor n - 1); so `micro_batch_size` is part of the result, num_csx is not. With the whole
 * batch as one microbatch it is PyTorch's on one device. Evaluation: by the running statistics. */
CSE_API cse_tensor *cse_apply_batch_norm(const cse_model *model, const cse_batch_norm_layer *layer,
                                         cse_tensor *x);

/* ---- what a model is trained for ---- */

/* Gives a language model an objective of preferences (`csengine list objectives`), in place of its
 * own loss: cse_model_loss is that of the objective from then on. `settings`: "{beta: 0.1}"; NULL
 * for all defaults. The data are those of the input function preferences. What the model is
 * compared with are its weights before the first execution: the same ones with the session's
 * `adapters` off, or a copy of all, in states named reference.NAME. Outside of steps, once a model.
 * CSE_CONFIG: an unknown name or setting; CSE_USAGE: a second objective, or one with a teacher,
 * which a configuration has; both are the session's failure as well. */
CSE_API cse_status cse_configure_objective(const char *name, cse_model *model,
                                           const char *settings);

#ifdef __cplusplus
}
#endif

#endif
