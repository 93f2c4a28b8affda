/* One line a name. What gets a counterpart leaves the list. */
#include "engine/config/reference_names.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *name, *hint;
} names[] = {
    { "mgmt_address", "leave it out: the processes of a run are started on this machine" },
    { "mount_dirs", "leave it out: all processes run on this machine and see its files" },
    { "python_paths", "leave it out: a model is a shared object (model.library), not Python" },
    { "transfer_processes", "leave it out: all processes of a run share one memory" },
    { "max_act_per_csx", "leave it out: a replica keeps its activations in its own memory" },
    { "checkpoint_steps", "write trainer.init.checkpoint.steps" },
    { "loss_scale", "write precision.loss_scaling_factor" },
    { "init_scale", "write precision.initial_loss_scale" },
    { "optimizer_type", "write optimizer: {NAME: {settings}}" },
    { "max_gradient_val", "write max_gradient_value" },
    { "compute_on_system", "leave it out: metrics are always part of the step" },
    { "sparsity", "leave it out: weights are dense" },
    { "callbacks",
      "leave it out: there are no callbacks; a program of the C API has step closures" },
};

const char *cse_reference_name_hint(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i].name, name) == 0)
            return names[i].hint;
    return NULL;
}
