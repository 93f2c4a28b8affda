/* What a model is trained for in place of its own loss: preferences (which of two texts is the
 * better one), or the outputs of a teacher.
 *
 * An objective is a file of the folder objectives that ends with its descriptor. A configuration
 * names it, `objective: {dpo: {beta: 0.1}}`, and the model then has it (cse_configured_objective):
 * its cse_model_loss is that of the objective, in training and in validations. Settings have the
 * names of TRL's trainers.
 *
 * Most compare the model with another one that is not trained. A reference is the model as it was
 * before its first step: where an adapter alone is trained, the same weights with the adapter off,
 * else a copy of the starting weights (states reference.*, which checkpoints hold). A teacher is a
 * model of any family, read from its weights at each start (states teacher.*). */
#ifndef CSE_ENGINE_NN_OBJECTIVE_H
#define CSE_ENGINE_NN_OBJECTIVE_H

#include "csengine/model.h"
#include "engine/nn/configured.h"

typedef struct cse_objective cse_objective;

typedef struct cse_objective_descriptor {
    const char *name;
    const char *summary;
    const cse_setting *settings;
    /* What spans settings; NULL: nothing does. */
    cse_status (*check)(const cse_settings *settings);
    /* Whether it compares with a reference, by its settings; NULL: no. */
    bool (*wants_reference)(const cse_settings *settings);
    /* The setting that is the path of a teacher; NULL: there is none. */
    const char *teacher;
    /* Traces the loss, and what validations take for the model's outputs. */
    cse_tensor *(*loss)(const cse_objective *objective, cse_step *step, cse_tensor **predictions);
} cse_objective_descriptor;

struct cse_objective {
    const cse_objective_descriptor *descriptor;
    const cse_settings *settings;
    cse_model *model; /* that is trained */
    /* The reference or the teacher; NULL: the model with its adapter off, or none is wanted. */
    cse_model *other;
};

/* Gives the model an objective; makes its reference. CSE_CONFIG. */
cse_status cse_configured_objective(const cse_config_plugin *plugin,
                                    const cse_config_plugin *model_plugin, cse_model *model,
                                    cse_objective **objective);

/* Whether its reference is the model with its adapters off. */
bool cse_objective_reference_is_adapter_off(const cse_objective *objective);

/* All objectives that are built in, ended by NULL. */
extern const cse_objective_descriptor *const cse_objectives[];

#endif
