/* The session: a whole training or evaluation job, written as plain C.
 *
 * Programs follow the order of the reference API: configure once; a model, compiled; an optimizer,
 * a schedule, a gradient scaler; a step function that is traced; an executor that runs it;
 * closures that see values as they arrive. examples/training.c and examples/evaluation.c are whole
 * programs.
 *
 * Errors. Calls that make something return a handle, or NULL; the first such failure of a session
 * is kept, calls that get a NULL handle do nothing, and cse_run returns what was kept. So a program
 * may check each call (cse_error_message says why), or only cse_run.
 *
 * Ownership. Everything made here belongs to the session and lives until cse_finish. There is one
 * session in a process, and the thread that opened it uses it: calls of other threads, and of
 * processes that were forked while it was open, fail with CSE_USAGE and change nothing. */
#ifndef CSENGINE_TRAIN_H
#define CSENGINE_TRAIN_H

#include "csengine/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the session ---- */

/* Zero or NULL in a member stands for its default. */
typedef struct cse_configuration {
    const char *model_dir;   /* checkpoints and artefacts; "./model_dir" */
    const char *compile_dir; /* compiled steps, kept between runs; MODEL_DIR/compiled */
    bool compile_only;       /* trace and compile, execute nothing */
    bool validate_only;      /* trace and check, compile nothing */
    int num_csx;             /* replicas that share the global batch; 1 */
    int num_workers_per_csx; /* input workers for each replica; 1 */
    int max_wgt_servers;     /* weight servers; 0: the replicas reduce and update by themselves */
    const char *binding;     /* of those to processors: "auto" (default), "cores", "none" */
    double audit_fraction;   /* share of microbatches that are audited, 0 to 1: computed twice */
    /* What partial sums of gradients are rounded to in the reduction tree: "fp32" (default),
     * "bf16", "bf16sr" (stochastically rounded), "fp16", "cb16". */
    const char *weight_grad_reduce;
    /* How weights are kept between steps: "fp32" (default); "bf16", rounded to nearest after each
     * update; "bf16sr", rounded stochastically; "bf16_kahan", to nearest, with the rounding error
     * kept in a second state. The update is computed in float32, and a weight fills a float32
     * word whatever it is rounded to; an optimizer's states are as its setting `moments` says. */
    const char *weight_update;
    /* Precision as YAML, with all the names of the configuration's section `precision`:
     * "{fp16_type: bfloat16, precision_opt_level: 1, graphamp: {preset: mp2}}"; NULL: float32.
     * Loss scaling and clipping hold for steps without a scaler, or a clip, of their own.
     * precision_origin: where it was given, for messages; NULL: here. */
    const char *precision, *precision_origin;
    /* Tensor statistics, section `numerics`: "{every: 100, tensors: [model.*]}"; NULL: none. */
    const char *numerics;
    /* Section `recompute`: "{scopes: [model.layers.*]}"; NULL: CSE_RECOMPUTE blocks alone. */
    const char *recompute;
    /* Likewise `adapters`, "{mine: {r: 8}}", and `states`, "{keep_in: file, ...}"; NULL: none. */
    const char *adapters, *states;
    /* true: the same bits on every x86-64 processor with AVX2, whatever else it has, from the same
     * compiler; slower where there is more than AVX2. false: the same bits on each machine. */
    bool portable;
    uint64_t seed; /* of initial weights, shuffling, dropout; 0 is a seed like any other */
    const char *const *job_labels; /* "key=value", ended by NULL; kept in MODEL_DIR/run_meta.json */
    const char *job_priority;      /* "p1" (first) to "p3"; kept in MODEL_DIR/run_meta.json */
    /* Seconds from cse_configure on, after which an execution ends as with cse_stop, and cse_run
     * returns CSE_TIME_LIMIT; pauses count. 0: no limit. */
    int64_t job_time_sec;
    const char *worker_executable; /* the `csengine` program; NULL: found as installed */
    /* The run is recorded in MODEL_DIR/run.db, which `csengine serve --run MODEL_DIR` shows live,
     * and `csengine report` and `csengine compare` read: what steps hand out, closures with what
     * they print to stdout, checkpoints, the step's graph. true: it is not. */
    bool no_run_store;
    /* Where a dashboard of the run listens as long as the program lives ("127.0.0.1:8080"; port 0:
     * a free one); its address is printed to stderr. NULL: none. */
    const char *dashboard;
} cse_configuration;

/* Opens the process's session. Fails with CSE_USAGE when one is open, CSE_CONFIG for a value out of
 * range; the latter is the session's first failure, which cse_run returns, until cse_finish or the
 * next cse_configure. The cluster part is locked in for all executions. */
CSE_API cse_status cse_configure(const cse_configuration *configuration);

/* Releases the session and everything made in it. */
CSE_API void cse_finish(void);

/* The session's first failure (CSE_OK: none); its message becomes the last failure again. */
CSE_API cse_status cse_session_status(void);

/* Training steps done so far, including those of a loaded checkpoint. */
CSE_API int64_t cse_global_step(void);

/* ---- states ---- */

/* How a state's first value is made: element e is a pure function of (seed, its name, e). */
typedef enum cse_initializer_kind {
    CSE_INIT_CONSTANT,         /* a */
    CSE_INIT_UNIFORM,          /* in [a, b) */
    CSE_INIT_NORMAL,           /* mean a, standard deviation b */
    CSE_INIT_TRUNCATED_NORMAL, /* mean a, standard deviation b, redrawn beyond two deviations */
    CSE_INIT_NORMAL_WITHIN,    /* mean 0, standard deviation a, redrawn beyond +-b (b >= a / 10) */
    CSE_INIT_EYE,              /* 1 where the last two indices are equal, else 0 */
    CSE_INIT_COUNT,
} cse_initializer_kind;

typedef struct cse_initializer {
    cse_initializer_kind kind;
    double a, b;
} cse_initializer;

/* A value that is carried from step to step: a weight, a counter, an optimizer's buffer. */
typedef struct cse_state cse_state;

/* Declares a state of type float32 or int32. Its name must be unique; checkpoints use it. Inside a
 * step this is an error: a state must exist before the step is traced. */
CSE_API cse_state *cse_state_new(const char *name, cse_shape shape, cse_dtype dtype,
                                 cse_initializer initializer);

/* The state's value at this place of the step: what it held before the step, or what was assigned
 * earlier in the step. Only inside a step. */
CSE_API cse_tensor *cse_read(cse_state *state);

/* Gives the state its value after the step. `value` has the state's shape and type and is of step
 * level: what depends on the batch must be summed first (cse_batch_sum). A second assignment in the
 * same step replaces the first. */
CSE_API void cse_assign(cse_state *state, cse_tensor *value);

/* Copies all values of a state out or in, outside of steps; `bytes` must be the size of the state.
 * Setting is possible before the first execution, and between executions only when the last one
 * took a checkpoint on its last step (CSE_USAGE otherwise). */
CSE_API cse_status cse_state_get(cse_state *state, void *values, size_t bytes);
CSE_API cse_status cse_state_set(cse_state *state, const void *values, size_t bytes);

/* The state's values where they lie, row-major, without a copy: after training that is where the
 * last step left them. Valid until the next execution, cse_load, cse_state_set of the state or
 * cse_finish; on a checkpoint step of a loop, or in a checkpoint closure, until that step is over.
 * NULL where cse_state_get fails, and for its reasons. */
CSE_API const void *cse_state_view(cse_state *state);

/* A tensor of constants whose values are data: a table of angles, a mask, class weights. `bytes`
 * holds the elements of `shape`, row-major, in `dtype` (any one; bool: a byte each), and is copied.
 * Values lie once in the memory that all processes of a run share, not in compiled code; a compiled
 * step is found again by their digest. Only inside a step; the same data give the same tensor. */
CSE_API cse_tensor *cse_constant_data(cse_step *step, cse_shape shape, cse_dtype dtype,
                                      const void *bytes);

/* ---- models (how to write one: csengine/model.h) ---- */

typedef struct cse_model cse_model;
struct cse_model_descriptor;

/* A model of the engine by name (`csengine list models`). `settings` is YAML,
 * "{hidden_sizes: [500, 300]}"; NULL for all defaults. */
CSE_API cse_model *cse_model_new(const char *name, const char *settings);

/* A model from a shared object that offers it by CSE_PLUGINS (csengine/plugin.h). */
CSE_API cse_model *cse_model_load(const char *library, const char *name, const char *settings);

/* A model that this program describes itself. `descriptor` must live as long as the session. */
CSE_API cse_model *cse_model_define(const struct cse_model_descriptor *descriptor,
                                    const char *settings);

/* A model that consists of states which the program declared (cse_state_new, float32) and traces by
 * itself: they become its parameters, keep their names, and are what cse_configure_optimizer trains
 * and cse_parameter_count counts. It has no cse_forward. `name` is told in checkpoints. */
CSE_API cse_model *cse_model_from_states(const char *name, cse_state *const states[], int count);

/* Prepares the model for tracing: its set of parameters is final. Returns `model`. */
CSE_API cse_model *cse_compile(cse_model *model);

/* Evaluation: dropout is the identity. cse_train_mode is the state after cse_compile. */
CSE_API void cse_eval_mode(cse_model *model);
CSE_API void cse_train_mode(cse_model *model);

/* The model's outputs for `input` ([batch, ...]); inside a step. */
CSE_API cse_tensor *cse_forward(cse_model *model, cse_tensor *input);

/* The model's own loss over the step's inputs, a float32 scalar: its mean over the microbatch. A
 * model without one is trained by what the data offers besides its one other input: cross-entropy
 * with `labels`, mean squared error with `targets`. `predictions` (may be NULL) receives the
 * outputs. */
CSE_API cse_tensor *cse_model_loss(cse_model *model, cse_step *step, cse_tensor **predictions);

/* Number of parameter tensors, and of their elements together. */
CSE_API int cse_parameter_tensors(const cse_model *model);
CSE_API int64_t cse_parameter_count(const cse_model *model);
/* The parameter tensor `index`, and its name and shape ("fc_layers.0.weight"); borrowed. */
CSE_API cse_state *cse_parameter_at(cse_model *model, int index);
CSE_API const char *cse_state_name_view(const cse_state *state);
CSE_API cse_shape cse_state_shape(const cse_state *state);
CSE_API cse_dtype cse_state_dtype(const cse_state *state);

/* ---- optimizer, schedule, gradient scaler ---- */

typedef struct cse_optimizer cse_optimizer;
typedef struct cse_schedule cse_schedule;
typedef struct cse_grad_scaler cse_grad_scaler;

/* An optimizer by name for all parameters of `model`; declares its states, named
 * optimizer.<parameter>.<state>. `settings`: "{lr: 0.1, momentum: 0.9}"; `lr` and `learning_rate`
 * mean the same. */
CSE_API cse_optimizer *cse_configure_optimizer(const char *name, cse_model *model,
                                               const char *settings);

/* The same for a list of float32 states, in place of the parameters of a model. Each optimizer of a
 * session has states of its own: one that shares parameters with another fails with CSE_USAGE if
 * both keep a value of the same name for them. */
CSE_API cse_optimizer *cse_optimizer_new(const char *name, cse_state *const states[], int count,
                                         const char *settings);

/* Adds a group of parameters whose settings differ from the optimizer's in what `settings` says:
 * "{weight_decay: 0}". Before a schedule is given to the optimizer, and before the first step.
 *
 * As text, groups stand in the optimizer's own settings, chosen by patterns of parameter names:
 *   {lr: 0.001, weight_decay: 0.1, params: [{params: ["*.bias", "*norm*"], weight_decay: 0}]}
 * A parameter belongs to the first group one of whose patterns matches its name (with or without
 * the leading `model.`); the others form the last group. A group may have a `name`, under which its
 * learning rate is recorded (lr/NAME; else lr/0, lr/1, ... in the order of all groups of the
 * session), `tags`, by which a schedule is chosen (param_group_tags), and
 * `adjust_learning_rate`, a factor of its learning rate (ScalePerParamLR's, if there is one). */
CSE_API void cse_optimizer_add_group(cse_optimizer *optimizer, cse_state *const states[], int count,
                                     const char *settings);

/* Selective gradients: only chosen elements of some parameters are trained; the others keep their
 * values, and count as zeros in norms and for the optimizer. `settings` is one mapping or a list:
 *   {param_filter: ["fc*.weight"], init_method: outlier, upper_threshold: 2.25}
 * param_filter: patterns as those of groups; null: parameters of rank 2 and more without
 * "embedding", "norm", "lm_head" and "pe_helper" in their names. outlier: elements whose magnitude
 * is at least upper_threshold standard deviations of the magnitudes along the first axis. The first
 * mapping that chooses a parameter stands; NULL: {}. A mask is made of the weights that training
 * begins with, is kept as optimizer.NAME.requires_grad in checkpoints, and never changes. Before
 * the first step. */
CSE_API void cse_select_gradients(cse_optimizer *optimizer, const char *settings);

/* The same with a function of your own, which is called for each parameter that the pattern (NULL:
 * as above) matches, once its first values are known: it sets `selected` of the elements that are
 * trained, which are all false before. It must depend on nothing but what it is given. */
typedef struct cse_mask_request {
    const char *name; /* of the parameter */
    cse_shape shape;
    const float *values; /* row-major */
    bool *selected;
} cse_mask_request;
typedef void cse_mask_function(void *self, const cse_mask_request *request);
CSE_API void cse_select_gradients_by(cse_optimizer *optimizer, const char *param_filter,
                                     cse_mask_function *function, void *self);

/* The parameters that the optimizer updates, in the order in which it takes their gradients. */
CSE_API int cse_optimizer_parameter_count(const cse_optimizer *optimizer);
CSE_API cse_state *cse_optimizer_parameter_at(const cse_optimizer *optimizer, int index);

/* The learning rate as a function of the number of optimizer steps done, t = 0, 1, ... `settings`:
 *   0.1                                              constant
 *   {scheduler: CosineDecayLR, initial_learning_rate: 0.1, ...}
 *   {CosineDecayLR: {initial_learning_rate: 0.1, ...}}
 *   [{...}, {...}]                                   one after another, each for its total_iters
 * A list may also have schedules of weight decay and of momentum, by names that end with WD and
 * with Momentum for LR ({LinearWD: {initial_val: 0.1, ...}}); they replace those settings.
 * A schedule with param_group_tags: [TAG, ...] is for the groups that have one of the tags (null:
 * for groups without any), and takes the place of those without.
 * Declares schedulers.0.last_epoch; for the next optimizer schedulers.1.last_epoch. It replaces the
 * optimizer's lr, is evaluated just before each optimizer step, and moves on by itself after it. */
CSE_API cse_schedule *cse_configure_schedule(cse_optimizer *optimizer, const char *settings);

/* A schedule as a function: its value (float32 scalar, step level) at `t` (int32 scalar, step
 * level), for updates of your own. `settings` as those of cse_configure_schedule, of one value: a
 * number, a schedule, or a list of schedules one after another. Only inside a step. */
CSE_API cse_tensor *cse_schedule_value(cse_step *step, const char *settings, cse_tensor *t);

/* In a step, before the optimizer's update: the learning rate of its group `group` (0 is the
 * first) in this step, a float32 scalar of step level that takes the place of lr and of a schedule.
 * For schedules of your own, which are traced of states of your own. */
CSE_API void cse_optimizer_set_rate(cse_optimizer *optimizer, int group, cse_tensor *rate);
/* The same for the weight decay, of an optimizer that has one. */
CSE_API void cse_optimizer_set_weight_decay(cse_optimizer *optimizer, int group,
                                            cse_tensor *weight_decay);
CSE_API int cse_optimizer_group_count(const cse_optimizer *optimizer);

/* Weight sparsity: parameters of the optimizer with elements that are zero where a mask is, as are
 * their gradients and those states of the optimizer that have the parameter's shape. After all
 * parameters were given to the optimizer, and before the first step. `settings`:
 *   0.5                                                half of the elements, at random, for good
 *   {algorithm: rigl, sparsity: 0.9, update: {freq: 100, stop: 5000}}
 *   [{param_filter: "*.ffn.*", sparsity: 0.8, ...}, ...]   each parameter: the first that matches
 * docs/sparsity.md describes the algorithms static, gmp, set and rigl. Declares the states
 * sparsity.PARAMETER.mask (float32, 0 or 1) and sparsity.step, which checkpoints hold. */
CSE_API void cse_configure_sparsity(cse_optimizer *optimizer, const char *settings);

/* The mask of a sparse parameter; NULL for one that is dense. In a step, after the update, cse_read
 * gives the one that the next step begins with. */
CSE_API cse_state *cse_sparsity_mask(const cse_state *parameter);

/* In a step, after the update: the sparsity that the parameter is to have, a float32 scalar; NULL
 * for one that is dense. */
CSE_API cse_tensor *cse_sparsity_target(const cse_state *parameter);

/* Loss scaling: "{loss_scale: dynamic, init_scale: 32768, ...}" or "{loss_scale: 1024}"; 0.0, the
 * default, means none. NULL handles mean: as the session's precision says (loss_scaling_factor),
 * which excludes a scaler made here. max_gradient_norm clips, with a dynamic scale, gradients that
 * the step does not clip otherwise. */
CSE_API cse_grad_scaler *cse_grad_scaler_new(const char *settings);

/* Gradient clipping, after unscaling: by the norm over all gradients together (as PyTorch's
 * clip_grad_norm_: factor min(1, max_norm / (norm + 1e-6))), or each element to +-max_value. Zero:
 * not clipped; both together is an error. NULL: as the session's precision says. */
typedef struct cse_clip {
    double max_norm, max_value;
} cse_clip;

/* Traces the whole update of one training step: gradients of loss (times the scale) with respect to
 * the optimizer's parameters, summed over the microbatches and divided by their number; unscaling,
 * clipping, learning rate, optimizer, scale update. With a scaler nothing changes (parameters,
 * optimizer states, schedule) in a step whose gradients are not finite. `loss` is a float32 scalar,
 * a mean over the microbatch. `scaler` and `clip` may be NULL: then the session's precision says
 * (none, unless it was given). A step may have several, each of another optimizer whose parameters
 * no other one updates, with its own loss, schedule and clip; a scaler serves one of them, and
 * several by the calls below. */
CSE_API void cse_optimizer_step(cse_step *step, cse_tensor *loss, cse_optimizer *optimizer,
                                cse_grad_scaler *scaler, const cse_clip *clip);

/* ---- gradients, for updates of your own ---- */

/* gradients[i] becomes the gradient of `loss`, a float32 scalar, with respect to the value that
 * states[i] (float32, trainable or not) had before the step: a tensor of the state's shape and of
 * step level, which cse_assign takes. Of a loss that depends on the microbatch it is the mean over
 * all microbatches, along the same tree as that of cse_optimizer_step. NULL where no values lead
 * from the state to the loss, as PyTorch gives None; the calls below leave NULL out. May be called
 * for several losses in one step; not for values made of sums over the batch. */
CSE_API void cse_gradients(cse_tensor *loss, cse_state *const states[], int count,
                           cse_tensor *gradients[]);
/* The same for all parameters of an optimizer. */
CSE_API void cse_optimizer_gradients(cse_optimizer *optimizer, cse_tensor *loss,
                                     cse_tensor *gradients[]);

/* Declares the step to be training: it moves the global step and its place in the data, and its
 * states are the session's. Every update by an optimizer does so by itself. */
CSE_API void cse_step_train(cse_step *step);

/* Clips all gradients together, in place; returns their norm before (float32 scalar). */
CSE_API cse_tensor *cse_clip_gradients(cse_tensor *gradients[], int count, const cse_clip *clip);

/* Traces the optimizer's update with gradients of its parameters, in their order. A parameter whose
 * gradient is NULL does not change, and neither do its optimizer states. */
CSE_API void cse_optimizer_apply(cse_optimizer *optimizer, cse_tensor *const gradients[]);

/* What cse_optimizer_step does with a scaler, one call for each of PyTorch's GradScaler:
 *
 *   loss = cse_grad_scaler_scale(scaler, loss);              scaler.scale(loss)
 *   cse_optimizer_gradients(optimizer, loss, gradients);         .backward()
 *   cse_grad_scaler_unscale(scaler, gradients, count);       scaler.unscale_(optimizer)
 *   cse_clip_gradients(gradients, count, &clip);             clip_grad_norm_(parameters, ...)
 *   cse_grad_scaler_step(scaler, optimizer, gradients);      scaler.step(optimizer)
 *   cse_grad_scaler_update(scaler);                          scaler.update()
 *
 * Unscaling divides the gradients in place, and must come for all gradients before the first step:
 * unless all are finite, no optimizer changes anything. cse_grad_scaler_finite is that condition (a
 * bool scalar), for updates of your own: cse_where(finite, next, before). NULL: the scaler of the
 * session's precision. Without one, and with loss_scale 0, scaling and unscaling change nothing. */
CSE_API cse_tensor *cse_grad_scaler_scale(cse_grad_scaler *scaler, cse_tensor *loss);
CSE_API void cse_grad_scaler_unscale(cse_grad_scaler *scaler, cse_tensor *gradients[], int count);
CSE_API cse_tensor *cse_grad_scaler_finite(cse_grad_scaler *scaler);
CSE_API void cse_grad_scaler_step(cse_grad_scaler *scaler, cse_optimizer *optimizer,
                                  cse_tensor *const gradients[]);
CSE_API void cse_grad_scaler_update(cse_grad_scaler *scaler);

/* What a callback of cse_custom_gradient sees, and gives: input_gradients[i], of the shape and type
 * of inputs[i]; NULL (as it is before) for none. */
typedef struct cse_backward {
    cse_tensor *const *inputs;
    int input_count;
    cse_tensor *const *outputs; /* as they were given */
    int output_count;
    cse_tensor *const *output_gradients; /* of the loss with respect to each output */
    cse_tensor **input_gradients;
} cse_backward;
typedef void cse_backward_function(void *self, const cse_backward *backward);

typedef struct cse_custom_function {
    cse_tensor *const *inputs; /* 1 to 15 */
    int input_count;
    cse_tensor **outputs; /* of float types */
    int output_count;
    cse_backward_function *backward;
    void *self;
} cse_custom_function;

/* A gradient of your own (PyTorch's autograd.Function): the outputs were computed of the inputs by
 * any operations; `outputs` becomes handles of the same values, whose gradient `backward` traces
 * while cse_run traces the step: gradients reach the inputs only through it. It is called once for
 * each loss that the outputs lead to, and not in a step without gradients. cse_gradients has no
 * meaning in it. */
CSE_API void cse_custom_gradient(const cse_custom_function *function);

/* Sum over all microbatches of the global batch (float32; a value of step level), and the same
 * divided by their number: the mean over the global batch of a value that is a mean over the
 * microbatch. */
CSE_API cse_tensor *cse_batch_sum(cse_tensor *x);
CSE_API cse_tensor *cse_batch_mean(cse_tensor *x);

/* ---- metrics ---- */

typedef struct cse_metric cse_metric;

/* A metric by name (`csengine list metrics`) under a label of your own. Its states persist over
 * executions until it is reset. */
CSE_API cse_metric *cse_metric_new(const char *name, const char *label);

/* The same with settings (`csengine list metrics NAME`): "{num_classes: 10}"; NULL: defaults. */
CSE_API cse_metric *cse_configure_metric(const char *name, const char *label, const char *settings);

/* Traces one update and returns the value after it (step level, float32 scalar). The
 * tensors are the metric's arguments in order, the last ones optional:
 *   accuracy, dice, f_beta, mean_iou, mean_per_class_accuracy
 *                              labels int32 [batch], predictions int32 [batch], weights float32
 *                              [batch]; all three may have further axes
 *   auc                        labels int32 [batch], 0 or 1, probabilities float32 [batch] of 1,
 *                              weights float32 [batch]
 *   bleu, rouge_n              labels int32 [batch, time], predictions int32 [batch, time]
 *   mean                       value float32 (any shape), weight float32 (the same shape)
 *   mean_loss, perplexity      labels int32 (any shape), loss float32, summed over them, weights
 *                              float32 (the shape of the labels)
 *   precision_at_k, recall_at_k
 *                              labels int32 [batch], scores float32 [batch, classes], weights
 *                              float32 [batch]; means are 0 where all weights are 0 */
CSE_API cse_tensor *cse_metric_update_list(cse_metric *metric, ...);
/* The same for an array of tensors. */
CSE_API cse_tensor *cse_metric_update_array(cse_metric *metric, cse_tensor *const tensors[],
                                            int count);
#define cse_metric_update(...) \
    (cse_at(__FILE__, __LINE__), cse_metric_update_list(__VA_ARGS__, (cse_tensor *)0))

/* The value after an execution. Before the first update it fails with CSE_USAGE. */
CSE_API cse_status cse_metric_value(cse_metric *metric, double *value);
CSE_API cse_status cse_metric_reset(cse_metric *metric);

/* ---- the step ---- */

/* A step function is plain C that runs while the step is traced (again for a smaller last batch).
 * It returns the loss (its mean is watched: NaN or infinity ends the run: CSE_FAILED), or NULL. */
typedef cse_tensor *cse_step_function(cse_step *step, void *self);

/* What tracing the step has failed with so far, with the caller's place; NULL: with nothing. */
CSE_API const char *cse_step_failure(const cse_step *step);

/* An input of the step by the name that the input function gives it: [micro_batch_size, ...]. */
CSE_API cse_tensor *cse_step_input(cse_step *step, const char *name);
#define cse_input(step, name) (cse_at(__FILE__, __LINE__), cse_step_input(step, name))

/* Values delivered to a closure, valid until it returns. */
typedef struct cse_values cse_values;

/* Steps of training done when the values were made (for an evaluation: steps of the execution). */
CSE_API int64_t cse_values_step(const cse_values *values);
CSE_API int cse_values_count(const cse_values *values);
/* Scalar `index`, in the order of the closure's tensors. A tensor of more elements gives NaN. */
CSE_API double cse_value(const cse_values *values, int index);
/* The elements of value `index`, row-major; shape and type may be NULL. */
CSE_API const void *cse_value_data_view(const cse_values *values, int index, cse_shape *shape,
                                        cse_dtype *dtype);

/* Called in the coordinator, in the order of the steps and of the calls that asked for it, while
 * training goes on. A status other than CSE_OK ends the run with it. */
typedef cse_status cse_closure(void *self, const cse_values *values);

/* Asks for `closure` with the values of the tensors that follow `self`, on each activation step.
 * A float32 scalar that depends on the microbatch is delivered as its mean over the global batch;
 * anything else must be of step level: reduce it (cse_batch_sum, cse_batch_mean). */
CSE_API void cse_step_closure_list(cse_step *step, cse_closure *closure, void *self, ...);
#define cse_step_closure(step, closure, ...)                             \
    (cse_at(__FILE__, __LINE__),                                         \
     cse_step_closure_list(step, closure, __VA_ARGS__, (cse_tensor *)0), \
     cse_step_name_closure(step, #closure))

/* What such a call asks for, as data. */
typedef struct cse_closure_request {
    cse_closure *closure;
    void *self;
    cse_tensor *const *tensors;
    int count;
    bool on_checkpoint; /* on checkpoint steps alone, as cse_checkpoint_closure */
} cse_closure_request;
CSE_API void cse_closure_add(cse_step *step, const cse_closure_request *request);

/* The same on checkpoint steps alone: the only time during an execution when cse_save works. */
CSE_API void cse_checkpoint_closure_list(cse_step *step, cse_closure *closure, void *self, ...);
#define cse_checkpoint_closure(step, closure, ...)                             \
    (cse_at(__FILE__, __LINE__),                                               \
     cse_checkpoint_closure_list(step, closure, __VA_ARGS__, (cse_tensor *)0), \
     cse_step_name_closure(step, #closure))

/* The name under which the run's record has the closure that was asked for last; both macros give
 * it the name of its function. */
CSE_API void cse_step_name_closure(cse_step *step, const char *name);

/* A number of the program's own as a point of a series of the run's record, at the step whose
 * values are handed out, else at the global step. Names are 1 to 63 letters, digits, '_', '-', '.'
 * and '/' ("val/f1"); a run has at most 256. CSE_USAGE without a session, CSE_CONFIG for any other
 * name. Nothing else happens where the run is not recorded. */
CSE_API cse_status cse_log_scalar(const char *name, double value);

/* Runs a statement or block between `enter` and `leave`; `open` is a unique variable name, so that
 * regions nest. */
#define CSE_REGION(open, enter, leave) for (int open = (enter, 1); open; open = (leave, 0))
#define CSE_REGION_NAME(name, line) CSE_REGION_JOIN(name, line)
#define CSE_REGION_JOIN(name, line) name##line

/* The role of a module in the model, for settings that treat modules by class. */
typedef enum cse_module_class {
    CSE_MODULE_PLAIN, /* as the module around it */
    CSE_MODULE_HEAD,  /* turns hidden values into scores: POL 1 leaves its backward pass at 0 */
} cse_module_class;

/* CSE_SCOPE(step, "encoder") { ... }: what is traced in the block belongs to scope "encoder",
 * nested. CSE_MODULE(step, "lm_head", CSE_MODULE_HEAD) { ... }: the same for a module of a class.
 * Do not leave the block by break, return or goto. */
CSE_API void cse_module_enter(cse_step *step, const char *name, cse_module_class module_class);
CSE_API void cse_scope_enter(cse_step *step, const char *name);
CSE_API void cse_scope_leave(cse_step *step, const char *name);
#define CSE_SCOPE(step, name) CSE_MODULE(step, name, CSE_MODULE_PLAIN)
#define CSE_MODULE(step, name, module_class)                \
    CSE_REGION(CSE_REGION_NAME(cse_module_open_, __LINE__), \
               cse_module_enter(step, name, module_class), cse_scope_leave(step, name))

/* ---- precision of regions ---- */

/* CSE_DISABLE_GRAPHAMP(step) { ... }: GraphAMP leaves what is traced in the block as it is written,
 * and the gradients of it; casts are the code's own (cse_cast). Nested blocks are allowed. Do not
 * leave the block by break, return or goto. */
CSE_API void cse_graphamp_disable(cse_step *step);
CSE_API void cse_graphamp_restore(cse_step *step);
#define CSE_DISABLE_GRAPHAMP(step)                                                        \
    CSE_REGION(CSE_REGION_NAME(cse_graphamp_open_, __LINE__), cse_graphamp_disable(step), \
               cse_graphamp_restore(step))

enum { CSE_POL_NONE = -1 };

/* A precision optimization level, 0 to 2, for a part of the model: CSE_POL_NONE asks for none. The
 * backward pass has `bwd_level` if that is given, else `level`. */
typedef struct cse_pol_options {
    int level, bwd_level;
    bool enable_fwd, enable_bwd; /* false: this pass keeps the level of the enclosing block */
} cse_pol_options;

/* CSE_POL(step, .level = 0, .bwd_level = 1) { ... } or CSE_POL(step, .level = 0) x = layer(x);
 * what is traced in the block, and its gradients, have these levels instead of the model's
 * (precision_opt_level). The innermost block wins, for the forward and the backward pass apart;
 * what a block leaves out comes from the block around it. Do not leave the block by break, return
 * or goto. A level outside of 0 to 2 is an error of the step. */
CSE_API void cse_pol_enter(cse_step *step, cse_pol_options options);
CSE_API void cse_pol_leave(cse_step *step);
#define CSE_POL(step, ...)                               \
    CSE_REGION(CSE_REGION_NAME(cse_pol_open_, __LINE__), \
               cse_pol_enter(step, CSE_POL_OPTIONS(__VA_ARGS__)), cse_pol_leave(step))
/* Defaults come first and are overridden, which would give a warning. */
#define CSE_POL_OPTIONS(...)                                                                 \
    __extension__({                                                                          \
        _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Woverride-init\"") \
            cse_pol_options cse_pol_given = { CSE_POL_NONE, CSE_POL_NONE, true, true,        \
                                              __VA_ARGS__ };                                 \
        _Pragma("GCC diagnostic pop") cse_pol_given;                                         \
    })

/* ---- memory of regions ---- */

/* CSE_RECOMPUTE(step) { ... }: what is traced in the block, as a layer, is computed a second time
 * for its gradients instead of being kept since the forward pass: only what leaves the block is
 * kept. Blocks inside of a block belong to it. The last bits of the gradients may differ from those
 * without the block, where a sum is fused with other ops; they are the same for any num_csx. Do not
 * leave the block by break, return or goto. */
CSE_API void cse_recompute_enter(cse_step *step);
CSE_API void cse_recompute_leave(cse_step *step);
#define CSE_RECOMPUTE(step)                                                               \
    CSE_REGION(CSE_REGION_NAME(cse_recompute_open_, __LINE__), cse_recompute_enter(step), \
               cse_recompute_leave(step))

/* ---- executions ---- */

/* One of num_steps and num_epochs, or max_steps, must be given; 0: not given. */
typedef struct cse_executor_options {
    const char *input; /* YAML: "{data_processor: idx_images, ..., batch_size: 256}" */
    int64_t num_steps; /* steps of this execution, counted from the global step it starts at */
    int64_t max_steps; /* global step at which training ends */
    int64_t num_epochs;
    int64_t steps_per_epoch;  /* with num_epochs; at most the batches of an epoch */
    int64_t checkpoint_steps; /* every n steps and at the last one; 0: never */
    double
        checkpoint_minutes; /* when the last checkpoint is so old, and at the last step; 0: never */
    int64_t activation_steps; /* step closures see every n-th step and the last one; 0: every one */
} cse_executor_options;

typedef struct cse_executor cse_executor;

CSE_API cse_executor *cse_executor_new(const cse_executor_options *options);

/* Traces `function(step, self)`, compiles it and runs it. A step with cse_optimizer_step is
 * training: it goes on from the global step (also its place in the data) and moves it. Any other
 * starts at the first batch. Fails with what the session, tracing, compiling, the data, a worker or
 * a closure failed with. After training that failed the states are those of the last step that was
 * committed (cse_global_step) and may be read and saved. Training that is ended at once, or whose
 * last step cannot be finished, leaves none: reading, saving or running them fails with CSE_USAGE
 * until a checkpoint is loaded. */
CSE_API cse_status cse_run(cse_executor *executor, cse_step_function *function, void *self);

/* Asks the running execution to stop, from a closure or a signal handler: after the step in flight,
 * with a checkpoint if it makes any. cse_run then returns CSE_OK. */
CSE_API void cse_stop(void);

/* ---- executions as a loop of your own ----
 *
 *     cse_loop *training = cse_execution_begin(executor, training_step, &self);
 *     while (cse_execution_next(training, -1) == CSE_NEXT_STEP)
 *         printf("%lld: %g\n", (long long)cse_execution_step(training),
 *                cse_output_number(self.loss));
 *     cse_status status = cse_execution_end(&training);
 *
 * The same execution as cse_run's, with the same bits; only who waits for whom is different. The
 * caller's thread is the coordinator while it is in cse_execution_next: between two calls the
 * workers go on for up to 64 steps, and then wait. That thread must live as long as the loop, whose
 * workers are killed when it ends. */

typedef struct cse_loop cse_loop;

/* What cse_execution_next found. */
typedef enum cse_next {
    CSE_NEXT_STEP,    /* an activation or checkpoint step: its values and states can be read */
    CSE_NEXT_TIMEOUT, /* nothing in the time given; nothing is lost, ask again */
    CSE_NEXT_END,     /* all steps are done, or a stop was asked for */
    CSE_NEXT_FAILED,  /* cse_error_message says why; cse_execution_end returns its status */
} cse_next;

/* Traces, compiles and begins to run what cse_run would run. Never fails by itself: the failure is
 * the first cse_execution_next. NULL only without a session, or while another loop is open; every
 * call below takes NULL, as a loop that failed. */
CSE_API cse_loop *cse_execution_begin(cse_executor *executor, cse_step_function *function,
                                      void *self);

/* Waits at most `timeout_ms` (negative: without a limit; 0: only looks) for the next activation or
 * checkpoint step, in the order of the steps. Closures of the step are called before it returns.
 * Programs that have to answer signals wait in slices of 100 ms or so. */
CSE_API cse_next cse_execution_next(cse_loop *loop, int timeout_ms);

/* Of the step that cse_execution_next gave last: its number, as in cse_values_step; whether it is
 * an activation step; and whether it is a checkpoint step, on which cse_save, cse_save_tree,
 * cse_state_get and cse_state_view work until the next call of cse_execution_next. */
CSE_API int64_t cse_execution_step(const cse_loop *loop);
CSE_API bool cse_execution_at_activation(const cse_loop *loop);
CSE_API bool cse_execution_at_checkpoint(const cse_loop *loop);

/* Ends the loop and sets it to NULL. Before the last step it stops after the step in flight, as
 * cse_stop does: cse_global_step tells after which step that was, which may be later than the step
 * seen last; closures are called for those between. Returns what the execution failed with. */
CSE_API cse_status cse_execution_end(cse_loop **loop);

/* A value of the step that a loop or a closure can read by this handle, on each activation and
 * checkpoint step. `tensor` is as in cse_step_closure. With a name, a float32 scalar is a series of
 * the run as well, recorded for every step ("accuracy"); NULL: without. Only inside a step; the
 * handle is the session's. NULL after a failure. */
typedef struct cse_output cse_output;
CSE_API cse_output *cse_step_output(cse_step *step, const char *name, cse_tensor *tensor);

/* The scalar, or NaN when no step stands that has it; and the elements, or NULL then. The view is
 * valid until the next call of cse_execution_next, in a closure until that returns. */
CSE_API double cse_output_number(const cse_output *output);
CSE_API const void *cse_output_view(const cse_output *output, cse_shape *shape, cse_dtype *dtype);

/* ---- checkpoints ---- */

/* Writes the states of model, optimizer, schedule and scaler with the global step, atomically.
 * Inside a checkpoint closure, or outside of executions; CSE_USAGE elsewhere, else as the file
 * system says. */
CSE_API cse_status cse_save(const char *path);

/* Gives every state declared so far its value in the file, and sets the global step. Nothing
 * changes when it fails: CSE_DATA names the tensor that is missing or has another shape, and a
 * model.* tensor that this model lacks. Tensors of optimizers, schedules and scalers that this
 * session lacks are ignored. */
CSE_API cse_status cse_load(const char *path);

/* Sets what cse_global_step gives: where training goes on in its data and schedules, after states
 * were loaded one by one. As cse_state_set; CSE_CONFIG below 0. */
CSE_API cse_status cse_set_global_step(int64_t step);

/* ---- checkpoints of your own making: a tree of values ----
 *
 *     cse_tree *tree = cse_tree_new();
 *     cse_tree_set_part(tree, "model", CSE_PART_MODEL);
 *     cse_tree_set_integer(tree, "epoch", 3);
 *     cse_status status = cse_save_tree(tree, "best.mdl");
 *     cse_tree_destroy(&tree);
 *
 * A key is 1 to 200 bytes without '/' and control characters; keys of branches are joined by dots
 * ("best.loss"). A key that is set again has the newer value. Calls with a wrong key or a NULL
 * handle fail when the tree is saved. */

typedef struct cse_tree cse_tree;
CSE_API cse_tree *cse_tree_new(void);
CSE_API void cse_tree_destroy(cse_tree **tree);

CSE_API void cse_tree_set_integer(cse_tree *tree, const char *key, int64_t value);
CSE_API void cse_tree_set_number(cse_tree *tree, const char *key, double value);
CSE_API void cse_tree_set_text(cse_tree *tree, const char *key, const char *value);
/* Elements, row-major, of type float32 or int32; copied. */
CSE_API void cse_tree_set_array(cse_tree *tree, const char *key, cse_shape shape, cse_dtype dtype,
                                const void *values);
/* A branch, which belongs to `tree` from then on. */
CSE_API cse_tree *cse_tree_set_branch(cse_tree *tree, const char *key);

/* What the session has declared so far, by whom: the parameters of models; the states of
 * optimizers, of the schedule and of the gradient scaler; and those of cse_state_new. */
typedef enum cse_state_part {
    CSE_PART_MODEL,
    CSE_PART_OPTIMIZER,
    CSE_PART_SCHEDULE,
    CSE_PART_GRAD_SCALER,
    CSE_PART_STATES,
} cse_state_part;

/* All states of a part under KEY.NAME, or one state under KEY: their values when the tree is saved,
 * which are not copied. With the keys "model", "optimizer", "schedulers" and "grad_scaler" cse_load
 * can load the file as one of cse_save. */
CSE_API void cse_tree_set_part(cse_tree *tree, const char *key, cse_state_part part);
CSE_API void cse_tree_set_state(cse_tree *tree, const char *key, cse_state *state);
/* Writes the states of a part, as declared, to states[0..most); returns how many there are. */
CSE_API int cse_part_states(cse_state_part part, cse_state *states[], int most);
/* Writes the tree as cse_save writes, where cse_save may be called. */
CSE_API cse_status cse_save_tree(const cse_tree *tree, const char *path);

/* A checkpoint of either kind, of which only what is asked for is read. Opening reads the list of
 * what is there; a tensor is read when it is asked for, and verified by its digest then. */
typedef struct cse_saved cse_saved;
/* CSE_NO_INPUT when it is missing, CSE_DATA when it is damaged or no checkpoint. */
CSE_API cse_status cse_saved_open(const char *path, cse_saved **saved);
CSE_API void cse_saved_close(cse_saved **saved);

typedef enum cse_saved_kind {
    CSE_SAVED_TENSOR,
    CSE_SAVED_INTEGER,
    CSE_SAVED_NUMBER,
    CSE_SAVED_TEXT
} cse_saved_kind;
typedef struct cse_saved_entry {
    const char *key; /* borrowed */
    cse_saved_kind kind;
    cse_shape shape; /* of a tensor */
    cse_dtype dtype;
} cse_saved_entry;
CSE_API int cse_saved_count(const cse_saved *saved);
/* Entry `index`, tensors first; key NULL behind the last. */
CSE_API cse_saved_entry cse_saved_at(const cse_saved *saved, int index);

/* The value of a key. CSE_NO_INPUT when there is none, CSE_SHAPE when it is of another kind. The
 * key "global_step" is there in every checkpoint. A text is borrowed until the file is closed. */
CSE_API cse_status cse_saved_integer(const cse_saved *saved, const char *key, int64_t *value);
CSE_API cse_status cse_saved_number(const cse_saved *saved, const char *key, double *value);
CSE_API cse_status cse_saved_text(const cse_saved *saved, const char *key, const char **value);

/* Elements [first, first + count) of a tensor. CSE_SHAPE when it has fewer, CSE_DATA when the
 * tensor is damaged: to know that, all of it is read, in blocks, and nothing else of the file. */
CSE_API cse_status cse_saved_read(cse_saved *saved, const char *key, int64_t first, int64_t count,
                                  void *values);

/* Gives the states of a part, or one state, the tensors under the key, as cse_load does for all:
 * where states may be changed; CSE_DATA, with nothing changed, names what is missing or of another
 * shape, and for the model a tensor under the key that no state has. When a tensor turns out to be
 * damaged on the way, those before it are loaded. */
CSE_API cse_status cse_load_part(cse_saved *saved, const char *key, cse_state_part part);
CSE_API cse_status cse_load_state(cse_saved *saved, const char *key, cse_state *state);

#ifdef __cplusplus
}
#endif

#ifndef CSE_BUILDING_LIBRARY
#define cse_read(...) (cse_at(__FILE__, __LINE__), cse_read(__VA_ARGS__))
#define cse_assign(...) (cse_at(__FILE__, __LINE__), cse_assign(__VA_ARGS__))
#define cse_forward(...) (cse_at(__FILE__, __LINE__), cse_forward(__VA_ARGS__))
#define cse_optimizer_step(...) (cse_at(__FILE__, __LINE__), cse_optimizer_step(__VA_ARGS__))
#define cse_optimizer_set_rate(...) \
    (cse_at(__FILE__, __LINE__), cse_optimizer_set_rate(__VA_ARGS__))
#define cse_optimizer_set_weight_decay(...) \
    (cse_at(__FILE__, __LINE__), cse_optimizer_set_weight_decay(__VA_ARGS__))
#define cse_schedule_value(...) (cse_at(__FILE__, __LINE__), cse_schedule_value(__VA_ARGS__))
#define cse_optimizer_apply(...) (cse_at(__FILE__, __LINE__), cse_optimizer_apply(__VA_ARGS__))
#define cse_optimizer_gradients(...) \
    (cse_at(__FILE__, __LINE__), cse_optimizer_gradients(__VA_ARGS__))
#define cse_gradients(...) (cse_at(__FILE__, __LINE__), cse_gradients(__VA_ARGS__))
#define cse_clip_gradients(...) (cse_at(__FILE__, __LINE__), cse_clip_gradients(__VA_ARGS__))
#define cse_custom_gradient(...) (cse_at(__FILE__, __LINE__), cse_custom_gradient(__VA_ARGS__))
#define cse_constant_data(...) (cse_at(__FILE__, __LINE__), cse_constant_data(__VA_ARGS__))
#define cse_grad_scaler_scale(...) (cse_at(__FILE__, __LINE__), cse_grad_scaler_scale(__VA_ARGS__))
#define cse_grad_scaler_unscale(...) \
    (cse_at(__FILE__, __LINE__), cse_grad_scaler_unscale(__VA_ARGS__))
#define cse_grad_scaler_finite(...) \
    (cse_at(__FILE__, __LINE__), cse_grad_scaler_finite(__VA_ARGS__))
#define cse_grad_scaler_step(...) (cse_at(__FILE__, __LINE__), cse_grad_scaler_step(__VA_ARGS__))
#define cse_grad_scaler_update(...) \
    (cse_at(__FILE__, __LINE__), cse_grad_scaler_update(__VA_ARGS__))
#define cse_batch_sum(...) (cse_at(__FILE__, __LINE__), cse_batch_sum(__VA_ARGS__))
#define cse_batch_mean(...) (cse_at(__FILE__, __LINE__), cse_batch_mean(__VA_ARGS__))
#define cse_item(...) (cse_at(__FILE__, __LINE__), cse_item(__VA_ARGS__))
#define cse_state_new(...) (cse_at(__FILE__, __LINE__), cse_state_new(__VA_ARGS__))
#endif

#endif
