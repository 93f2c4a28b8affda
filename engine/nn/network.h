/* What models are made in, and what a step is traced over: the states, the models and optimizers
 * that declare them, what the step is asked to do with them, and the first failure.
 *
 * There is one in a process at a time, which its owner opens and closes: the public calls have no
 * handle for it. The values of states live here while no execution has them. */
#ifndef CSE_ENGINE_NN_NETWORK_H
#define CSE_ENGINE_NN_NETWORK_H

#include "engine/base/config/adapter_settings.h"
#include "engine/base/config/yaml.h"
#include "engine/base/registry.h"
#include "engine/graph/precision/graphamp.h"
#include "engine/nn/handles.h"

/* Whether steps deliver their loss scale. */
typedef enum cse_loss_scale_log {
    CSE_LOG_WHERE_DYNAMIC,
    CSE_LOG_ALWAYS,
    CSE_LOG_NEVER
} cse_loss_scale_log;

struct cse_network {
    cse_arena *arena;   /* the owner's; what is declared lives as long */
    uint64_t seed;      /* of the initial values */
    cse_status error;   /* of the first failure */
    cse_error *failure; /* NULL while `error` is CSE_OK */
    /* What was declared. */
    cse_state **states;
    int state_count, state_capacity;
    cse_name_index state_names;
    cse_model **models;
    int model_count, model_capacity;
    cse_optimizer **optimizers;
    int optimizer_count, optimizer_capacity;
    int group_count, schedule_count; /* of all optimizers */
    const char *optimizer_name;      /* of the last one; NULL: none */
    bool has_optimizer;
    struct cse_adapter *adapter; /* of the models that are made from now on; NULL: none */
    /* Those parameters of the models that are made from now on that stay packed; NULL: none. */
    struct cse_packed_parameters *packed;
    struct cse_freezing *freezing; /* likewise: what is not trained (freezing.h); NULL: all is */
    /* What another program calls the parameters of such a model, for names in adapters; NULL: it
     * has no names of its own. */
    const struct cse_parameter_names *(*parameter_names)(cse_arena *arena, const char *model,
                                                         const cse_settings *settings,
                                                         const cse_adapter_settings *adapter);
    /* What is asked of a step. */
    struct cse_class_loss *class_loss; /* class_loss.h; NULL: nothing */
    cse_precision *precision;          /* NULL: float32 throughout */
    cse_yaml_node *scaler_tree;        /* the scaler that `precision` asks for; NULL: none */
    cse_grad_scaler *scaler;           /* made of it once there is an optimizer */
    cse_loss_scale_log loss_scale_log;
    cse_clip clip; /* of steps that give none */
    cse_weight_update weight_update;
    bool sums_samples;    /* gradients do not depend on the size of microbatches */
    bool fetches_metrics; /* training steps deliver learning rate, loss scale, gradient norm */
    bool warned_of_precision;
    bool reads_averages; /* a step reads the averages of weights in place of these */
    /* The step that is traced. */
    cse_step *traced;     /* NULL: none is */
    uint64_t trace_count; /* steps that were traced, with that one */
    /* Who has the states' values. */
    bool executing;       /* between the start and the end of an execution */
    bool states_standing; /* in a checkpoint callback: `states` are those of the step before it */
    bool states_lost;     /* an execution that trained them failed amid a step: there are none */
    bool locked; /* they are stale: the last execution left no checkpoint of its last step */
};

/* Makes it the process's network, which the calling thread owns, and the reverse. */
void cse_network_open(cse_network *network);
void cse_network_close(void);
/* Frees what it holds outside of its arena. */
void cse_network_clear(cse_network *network);

/* The open network, or NULL with CSE_USAGE stored ("cse_configure comes first"). */
cse_network *cse_network_open_view(const char *caller);
/* The one that traces a step; else NULL, which is no failure. */
cse_network *cse_network_traced_view(void);
/* The same of one that traces a step; else NULL with CSE_USAGE, its failure. */
cse_network *cse_network_tracing_view(const char *caller);
/* Makes the stored error the network's failure if it is the first. Returns `status`. */
cse_status cse_network_fail(cse_status status);
/* The failure once more, or CSE_OK. */
cse_status cse_network_status(const char *caller);

/* Parses a text into a tree in the network's memory; messages begin with `subject`. */
cse_status cse_network_parse(const char *subject, const char *yaml, cse_yaml_node **tree);
/* The same for a public call; NULL without a network or after a failure, which becomes its own. */
cse_yaml_node *cse_network_text(const char *caller, const char *subject, const char *yaml);
/* Checks a tree against a table; the result lives as long as the network. */
cse_status cse_network_check(const cse_setting *table, const char *subject, cse_yaml_node *tree,
                             const cse_settings **settings);

/* Declares a state. Returns NULL after a failure, which becomes the network's. */
cse_state *cse_network_state(const cse_state_options *options, const char *name_format, ...)
    CSE_PRINTF(2, 3);
/* The same without checks, for values that the owner itself makes; `name` is copied. */
cse_state *cse_network_add_state(cse_network *network, const char *name,
                                 const cse_state_options *options);
size_t cse_state_bytes(const cse_state *state);
/* Index of the state in the graph that is traced; declared there at the first call. */
int cse_state_bind(cse_graph *graph, cse_state *state);
/* Rounds the state's values to bfloat16, now and whenever they are set. */
void cse_state_hold_bfloat16(cse_state *state);
/* Rounds values that were just set, if the state holds bfloat16. */
void cse_state_round_held(cse_state *state);

/* The state's values; initialized at the first call unless they were set. Where a source cannot be
 * read, that is the network's failure. */
void *cse_state_values(cse_network *network, cse_state *state);
/* Writes the values to a place of their size, which is zeroed, and keeps none: initial ones are
 * made there. Returns false where nothing was written, since all are zeros. */
bool cse_state_move_values(cse_network *network, cse_state *state, unsigned char *place);
/* Whether the values would be initial ones, which can be made in parts. */
bool cse_state_is_initial(const cse_state *state);
/* Writes elements [first, first + count) of such values to a place of their size, which is zeroed.
 * False where nothing was written, since all of the state are zeros. */
bool cse_state_make_part(const cse_network *network, const cse_state *state, int64_t first,
                         int64_t count, void *place);
/* The values are those of a source, which outlives them, from now on. */
void cse_state_take_source(cse_state *state, const cse_state_source *source);
/* Writes the values of its source to a place of their size, and keeps neither. */
cse_status cse_state_read_source(cse_state *state, void *place);
/* Memory of its own for values that the caller writes: what it holds, or new memory. */
void *cse_state_own_values(cse_state *state);
/* The values until the next of these three calls, in memory that outlives that. */
void cse_state_borrow_values(cse_state *state, const void *values);
/* Gives up the values and their memory. */
void cse_state_release_values(cse_state *state);
/* Fails with CSE_USAGE when states have no values to read; `caller` begins the message. */
cse_status cse_network_may_read(const cse_network *network, const char *caller);
/* Fails with CSE_USAGE when states must not be changed now; `caller` begins the message. */
cse_status cse_network_may_change(const cse_network *network, const char *caller);

/* Fetches `value` after each step; returns its index in graph->fetches, or -1 after a failure,
 * which the graph stores. */
int cse_step_fetch(cse_step *step, const char *name, cse_tensor *value);

/* As cse_batch_mean; `name` selects the random stream of stochastic rounding. */
cse_tensor *cse_batch_mean_named(cse_tensor *x, const char *name);

/* Frees the step with its graph. */
void cse_step_destroy(cse_step **step);

/* cse_model_loss of a model, whatever objective it has. */
cse_tensor *cse_model_own_loss(cse_model *model, cse_step *step, cse_tensor **predictions);
/* Whether the model can be called in a step; else fails it, with a message that `caller` begins. */
bool cse_model_may_trace(const cse_model *model, const char *caller);

#endif
