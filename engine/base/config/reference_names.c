/* One line a name. What gets a counterpart leaves the list. */
#include "engine/base/config/reference_names.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *name, *hint;
} names[] = {
    { "checkpoint_steps", "write trainer.init.checkpoint.steps" },
    { "loss_scale", "write precision.loss_scaling_factor" },
    { "init_scale", "write precision.initial_loss_scale" },
    { "optimizer_type", "write optimizer: {NAME: {settings}}" },
    { "max_gradient_val", "write max_gradient_value" },
    { "compute_on_system", "leave it out: metrics are always part of the step" },
    { "callbacks",
      "write trainer.init.callbacks: [{NAME: {settings}}], see `csengine list callbacks`" },
    { "metrics", "write trainer.init.metrics: [{NAME: {settings}}], see `csengine list metrics`" },
};

const char *cse_reference_name_hint(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i].name, name) == 0)
            return names[i].hint;
    return NULL;
}
