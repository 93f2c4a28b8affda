/* A step that is traced: its graph, the values that are fetched, the closures that get them. */
#ifndef CSE_ENGINE_NN_STEP_H
#define CSE_ENGINE_NN_STEP_H

#include "csengine/train.h"
#include "engine/graph/graph.h"

typedef struct cse_network cse_network;

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
};

/* Fetches `value` after each step; returns its index in graph->fetches, or -1 after a failure,
 * which the graph stores. */
int cse_step_fetch(cse_step *step, const char *name, cse_tensor *value);

/* As cse_batch_mean; `name` selects the random stream of stochastic rounding. */
cse_tensor *cse_batch_mean_named(cse_tensor *x, const char *name);

/* Frees the step with its graph. */
void cse_step_destroy(cse_step **step);

#endif
