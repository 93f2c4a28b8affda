/* The structs behind the handles of the public API, and the states that they declare.
 *
 * A state's values live in the session, not in a graph: each execution traces its own graph and
 * binds the states that its step uses to it. Values are copied in before and out after it; while
 * steps train, those of the arena are the only ones. */
#ifndef CSE_RUN_SESSION_HANDLES_H
#define CSE_RUN_SESSION_HANDLES_H

#include "engine/metrics/metric.h"
#include "engine/models/models.h"
#include "engine/optimizers/optimizer.h"
#include "engine/schedules/schedule.h"
#include "engine/types/weight_update.h"

struct cse_state {
    const char *name;
    cse_shape shape;
    cse_dtype dtype;
    cse_initializer initializer;
    bool trainable;
    bool persistent; /* in checkpoints; a metric's states are not */
    void *values;    /* NULL until they are needed or set, and while an execution has them */
    bool borrowed;   /* `values` lie in an arena: of the execution under way, or the standing one */
    int index;       /* in the graph that is traced; -1: not in it */
    bool constant;   /* of cse_constant_data: the session keeps `values` always */
    /* In the step that is traced: the gradients that were taken with respect to it, and whether an
     * optimizer updates it. */
    struct cse_taken_gradient *gradients;
    bool updated;
    bool bfloat16; /* stored as float32, but always rounded to bfloat16 */
    /* Of a mask: how its values are made (selective_gradients.h); NULL: by `initializer`. */
    const struct cse_selection *selection;
    struct cse_sparse *sparse; /* of a sparse parameter and its mask (sparsity.h); else NULL */
    double rate_factor;        /* of the learning rate; 0: 1 */
    bool of_norm;
};

struct cse_model {
    const cse_model_descriptor *descriptor;
    const cse_settings *settings;
    void *self;
    cse_state **parameters;
    int parameter_count, parameter_capacity;
    const char **frozen; /* expressions of names that are not trained */
    int frozen_count, frozen_capacity;
    bool building, compiled, training;
};

/* Parameters of an optimizer with the same settings. */
typedef struct cse_parameter_group {
    const cse_settings *settings; /* of the optimizer's table */
    const cse_settings *spared;   /* of its parameters without weight decay; NULL: it has none */
    const char *name;             /* of its learning rate: lr/NAME */
    const struct cse_yaml_node *tags;
    double adjust_learning_rate;
    cse_schedule_part *rate, *weight_decay, *momentum; /* NULL: no schedule */
} cse_parameter_group;

/* What the optimizer keeps for one parameter. */
typedef struct cse_optimized {
    cse_state *parameter;
    cse_state **states; /* in the order of the descriptor */
    int state_count;
    unsigned dense_states;   /* as bits: those that sparsity does not mask */
    cse_state *compensation; /* with CSE_WEIGHT_BF16_KAHAN; else NULL */
    cse_state *mask;         /* of the elements that are trained; NULL: all are */
    int group;
} cse_optimized;

struct cse_optimizer {
    const cse_optimizer_descriptor *descriptor;
    struct cse_yaml_node *tree; /* the settings as written, which those of groups are made of */
    const cse_settings *settings;
    cse_model *model; /* NULL: it was made of states */
    bool spares;      /* biases and norms have no weight decay, unless their group says otherwise */
    cse_schedule *schedule;
    cse_optimized *optimized;
    int count, capacity;
    cse_parameter_group *groups;
    int group_count, group_capacity;
    cse_state *sparsity_clock; /* the updates so far; NULL: no parameter is sparse */
};

struct cse_schedule {
    cse_schedule_part *part; /* of the optimizer's first group */
    cse_state *last_epoch;
};

struct cse_metric {
    const cse_metric_descriptor *descriptor;
    const cse_settings *settings;
    const char *label;
    cse_state *states[CSE_MAX_DECLARED_STATES];
    cse_state *value, *updates;
};

struct cse_executor {
    cse_executor_options options;
    const cse_settings *input; /* the data loader's */
};

typedef struct cse_state_options {
    cse_shape shape;
    cse_dtype dtype;
    cse_initializer initializer;
    bool trainable, transient;
} cse_state_options;
/* Declares a state. Returns NULL after a failure, which becomes the session's. */
cse_state *cse_session_state(const cse_state_options *options, const char *name_format, ...)
    CSE_PRINTF(2, 3);
/* The same without checks, for values that the session itself makes; `name` is copied. */
struct cse_session;
cse_state *cse_session_add_state(struct cse_session *session, const char *name,
                                 const cse_state_options *options);
size_t cse_state_bytes(const cse_state *state);
/* Rounds the state's values to bfloat16, now and whenever they are set. */
void cse_state_hold_bfloat16(cse_state *state);
/* Rounds values that were just set, if the state holds bfloat16. */
void cse_state_round_held(cse_state *state);
/* Index of the state in the graph that is traced; declared there at the first call. */
int cse_state_bind(cse_graph *graph, cse_state *state);

#endif
