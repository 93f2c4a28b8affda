/* The structs behind the handles of the public API, and the states that they declare.
 *
 * A state's values live in the network, not in a graph: each execution traces its own graph and
 * binds the states that its step uses to it. Values are copied in before and out after it; while
 * steps train, those of the arena are the only ones. */
#ifndef CSE_ENGINE_NN_HANDLES_H
#define CSE_ENGINE_NN_HANDLES_H

#include "engine/base/types/weight_update.h"
#include "engine/graph/graph.h"
#include "engine/nn/plugins.h"

typedef struct cse_network cse_network;

/* How a state's values depend on those of others: those of a mask on its parameter's, those of a
 * sparse parameter on its mask's. */
typedef struct cse_state_rule {
    /* Makes the first values; NULL: `initializer` does. */
    void (*fill)(cse_network *network, cse_state *state);
    void (*settle)(cse_network *network, cse_state *state); /* before values are read; or NULL */
    void (*unsettle)(cse_state *state); /* before values come from outside; or NULL */
} cse_state_rule;

/* Where values come from that are read once they are needed (run/saving/weights_sources.h). */
typedef struct cse_state_source {
    /* All elements, of the state's type. */
    cse_status (*read)(const struct cse_state_source *source, const cse_state *state, void *to);
    void *self;
    int index;
} cse_state_source;

struct cse_state {
    const char *name;
    cse_shape shape;
    cse_dtype dtype;
    cse_initializer initializer;
    bool trainable;
    bool persistent; /* in checkpoints; a metric's states are not */
    void *values;    /* NULL until they are needed or set, and while an execution has them */
    const cse_state_source *source; /* of values that are not there; NULL: initial ones */
    bool borrowed; /* `values` lie in an arena: of the execution under way, or the standing one */
    int index;     /* in the graph that is traced; -1: not in it */
    bool constant; /* of cse_constant_data: the network keeps `values` always */
    /* In the step that is traced: the gradients that were taken with respect to it, and whether an
     * optimizer updates it. */
    struct cse_taken_gradient *gradients;
    bool updated;
    /* Its rows are blocks of that type, with so many columns (packed_parameters.h), and the name
     * that it has unpacked; NULL: plain elements. */
    const struct cse_packed_type *packed;
    int64_t columns;
    const char *unpacked_name;
    bool bfloat16;                         /* stored as float32, but always rounded to bfloat16 */
    const cse_state_rule *rule;            /* NULL: its values depend on no other state's */
    const struct cse_selection *selection; /* of a mask (selective_gradients.h); else NULL */
    cse_state *original;       /* whose first values it begins with (frozen_copy.h); else NULL */
    struct cse_sparse *sparse; /* of a sparse parameter and its mask (sparsity.h); else NULL */
    cse_state *average;        /* of a parameter (weight_average.h); NULL: there is none */
    cse_state *average_of;     /* of an average: its parameter; else NULL */
    bool of_averages;          /* an average, or how often averages were updated */
    cse_state *beside;         /* of a magnitude (adapters/magnitude.c): its weight; else NULL */
    double rate_factor;        /* of the learning rate; 0: 1 */
    bool of_norm;
};

/* Whether its values are made of those of another state: of a mask, a copy, or an average. */
static inline bool cse_state_is_made(const cse_state *state)
{
    return state->selection != NULL || state->original != NULL || state->of_averages;
}

struct cse_model {
    const cse_model_descriptor *descriptor;
    const cse_settings *settings;
    void *self;
    cse_state **parameters;
    int parameter_count, parameter_capacity;
    const char **frozen; /* expressions of names that are not trained */
    int frozen_count, frozen_capacity;
    struct cse_adapter *adapter; /* alone trained (adapters/adapter.h); NULL: the model itself is */
    const char *role; /* before the names of its states; NULL: "model", that is trained */
    const struct cse_objective *objective; /* what it is trained for; NULL: its own loss */
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
    unsigned dense_states;    /* as bits: those that sparsity does not mask */
    unsigned positive_states; /* as bits: those that are never negative */
    cse_state *compensation;  /* with CSE_WEIGHT_BF16_KAHAN; else NULL */
    cse_state *mask;          /* of the elements that are trained; NULL: all are */
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
    cse_state *averaged;       /* updates of the averages of weights; NULL: there are none */
    double average_decay;
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

typedef struct cse_state_options {
    cse_shape shape;
    cse_dtype dtype;
    cse_initializer initializer;
    bool trainable, transient;
    bool of_optimizer; /* may be bfloat16 */
} cse_state_options;

/* ---- a step that is traced: its graph, what is fetched, the closures that get it ---- */

enum { CSE_MAX_CLOSURE_VALUES = 32 };

/* A closure that the step function asked for. */
typedef struct cse_step_closure_entry {
    cse_closure *closure;
    void *self;
    int *fetches;             /* indices in graph->fetches */
    const char **value_names; /* of the tensors: "loss", or scope and op that made it */
    cse_tensor **tensors;     /* as the closure's owner named them; valid while tracing */
    int count;
    bool on_checkpoint;
    const char *name; /* in the run store; NULL: its number */
} cse_step_closure_entry;

/* A value of cse_optimizer_set_rate or cse_optimizer_set_weight_decay. */
typedef struct cse_set_rate {
    const struct cse_set_rate *next;
    const struct cse_parameter_group *group;
    bool is_decay;
    cse_tensor *rate;
} cse_set_rate;

struct cse_step {
    cse_network *network;
    cse_graph *graph;
    cse_step_closure_entry *closures;
    int closure_count, closure_capacity;
    int loss_fetch, exhausted_fetch; /* -1: none */
    /* With exhausted_fetch: the sum of squares of each parameter's gradient. */
    int *gradient_fetches;
    const char **gradient_names;
    int gradient_count;
    double least_loss_scale;
    bool training;     /* an optimizer step was traced, or cse_step_train called */
    bool clipped;      /* gradients were clipped by cse_clip_gradients */
    cse_state **bound; /* by index in graph->states */
    /* Of the optimizer step: the parameters, and their gradients, unscaled and before clipping, for
     * what is traced after it; NULL: none was traced. */
    cse_state **parameters;
    cse_tensor **gradients;
    int parameter_count;
    const cse_set_rate *set_rates;            /* the newest first */
    cse_tensor *token_losses, *token_weights; /* of cse_loss_of_tokens; NULL: was not called */
    cse_tensor *answers; /* classes that an objective predicts, int32; NULL: the data's labels */
};

#endif
