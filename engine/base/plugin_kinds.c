/* The table of plugin_kinds.h. */
#include "engine/base/plugin_kinds.h"

#include <string.h>

#include "csengine/callback.h"
#include "csengine/input.h"
#include "csengine/logger.h"
#include "csengine/metric.h"
#include "csengine/model.h"
#include "csengine/op.h"
#include "csengine/optimizer.h"
#include "csengine/schedule.h"

#define MEMBER(type, member)            \
    {                                   \
#member, offsetof(type, member) \
    }

const cse_plugin_kind cse_plugin_kinds[] = {
    { "callback",
      "callbacks",
      "callback",
      CSE_CALLBACK_ABI,
      { MEMBER(cse_callback_descriptor, settings) } },
    { "input",
      "inputs",
      "input function",
      CSE_INPUT_ABI,
      { MEMBER(cse_input_descriptor, settings), MEMBER(cse_input_descriptor, open),
        MEMBER(cse_input_descriptor, read), MEMBER(cse_input_descriptor, close) } },
    { "logger",
      "loggers",
      "logger",
      CSE_LOGGER_ABI,
      { MEMBER(cse_logger_descriptor, settings), MEMBER(cse_logger_descriptor, open),
        MEMBER(cse_logger_descriptor, scalar), MEMBER(cse_logger_descriptor, flush),
        MEMBER(cse_logger_descriptor, close) } },
    { "metric",
      "metrics",
      "metric",
      CSE_METRIC_ABI,
      { MEMBER(cse_metric_descriptor, settings), MEMBER(cse_metric_descriptor, arguments),
        MEMBER(cse_metric_descriptor, update) } },
    { "model",
      "models",
      "model",
      CSE_MODEL_ABI,
      { MEMBER(cse_model_descriptor, settings), MEMBER(cse_model_descriptor, build),
        MEMBER(cse_model_descriptor, forward) } },
    { "op", "ops", "op", CSE_OP_ABI, { MEMBER(cse_op, infer) } },
    { "optimizer",
      "optimizers",
      "optimizer",
      CSE_OPTIMIZER_ABI,
      { MEMBER(cse_optimizer_descriptor, settings), MEMBER(cse_optimizer_descriptor, states),
        MEMBER(cse_optimizer_descriptor, update) } },
    { "schedule",
      "schedules",
      "schedule",
      CSE_SCHEDULE_ABI,
      { MEMBER(cse_schedule_descriptor, settings),
        MEMBER(cse_schedule_descriptor, learning_rate) } },
    { .name = NULL },
};

const cse_plugin_kind *cse_plugin_kind_find(const char *name)
{
    const cse_plugin_kind *kind = cse_plugin_kinds;
    while (kind->name != NULL && strcmp(kind->name, name) != 0)
        kind++;
    return kind->name != NULL ? kind : NULL;
}
