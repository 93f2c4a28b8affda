/* What a model's build function declares, and what it and the traced calls ask of their model. */
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>

#include "csengine/model.h"
#include "engine/base/types/packed/packed_rows.h"
#include "engine/nn/adapters/adapter.h"
#include "engine/nn/freezing.h"
#include "engine/nn/network.h"
#include "engine/nn/packed_parameters.h"

bool cse_is_training(const cse_model *model)
{
    return model->training;
}

void *cse_model_self(cse_model *model)
{
    return model->self;
}

const cse_settings *cse_model_settings_view(const cse_model *model)
{
    return model->settings;
}

const char *cse_model_text(cse_model *model, const char *format, ...)
{
    va_list arguments;
    char text[512];
    const cse_network *network = cse_network_open_view("cse_model_text");
    (void)model; /* models live as long as the session */
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return network != NULL ? cse_arena_string(network->arena, text) : "";
}

/* ---- parameters ---- */

static cse_state *declare(cse_model *model, const char *name, const cse_state_options *options)
{
    if (!model->building) {
        cse_network_fail(
            cse_fail(CSE_USAGE,
                     "model %s: '%s' is declared outside of the model's build function; "
                     "a model has all its parameters when it is made",
                     model->descriptor->name, name));
        return NULL;
    }
    const char *role = model->role != NULL ? model->role : "model";
    cse_state *state = cse_network_state(options, "%s.%s", role, name);
    if (state != NULL) {
        CSE_GROW(model->parameters, model->parameter_count, model->parameter_capacity);
        model->parameters[model->parameter_count++] = state;
    }
    return state;
}

cse_status cse_model_freeze(cse_model *model, const char *pattern)
{
    char why[128];
    regex_t expression;
    const int failed = regcomp(&expression, pattern, REG_EXTENDED | REG_NOSUB);
    if (failed != 0) {
        regerror(failed, &expression, why, sizeof why);
        return cse_fail(CSE_CONFIG, "\"%.80s\" is no regular expression: %s", pattern, why);
    }
    regfree(&expression);
    CSE_GROW(model->frozen, model->frozen_count, model->frozen_capacity);
    model->frozen[model->frozen_count++] = cse_model_text(model, "%s", pattern);
    return CSE_OK;
}

static bool is_frozen(const cse_model *model, const char *name)
{
    if (model->role != NULL)
        return true;
    const cse_network *network = cse_network_open_view("cse_parameter");
    bool found = network != NULL && cse_freezing_holds(network->freezing, name);
    if (model->adapter != NULL)
        found = !cse_adapter_trains(model->adapter, name) || found;
    for (int i = 0; i < model->frozen_count && !found; i++) {
        regex_t expression;
        if (regcomp(&expression, model->frozen[i], REG_EXTENDED | REG_NOSUB) != 0)
            continue;
        found = regexec(&expression, name, 0, NULL, 0) == 0;
        regfree(&expression);
    }
    return found;
}

/* Rows of blocks in place of elements. */
static cse_state *declare_packed(cse_model *model, const char *name, cse_shape shape,
                                 const cse_packed_type *type)
{
    const int64_t columns = shape.dims[1];
    cse_state *state =
        declare(model, cse_model_text(model, "%s.%s", name, type->name),
                &(cse_state_options){
                    .shape = cse_shape_of(shape.dims[0], cse_packed_row_words(type, columns)),
                    .dtype = CSE_INT32,
                    .initializer = { CSE_INIT_CONSTANT, 0, 0 } });
    if (state != NULL) {
        state->packed = type;
        state->columns = columns;
        state->unpacked_name = cse_model_text(model, "model.%s", name);
    }
    return state;
}

cse_state *cse_parameter(cse_model *model, const char *name, cse_shape shape,
                         cse_initializer initializer)
{
    const cse_network *network = cse_network_open_view("cse_parameter");
    const bool trained = !is_frozen(model, name);
    const cse_packed_type *type =
        network != NULL && model->building && model->role == NULL
            ? cse_packed_parameters_take(network->packed, name, shape, trained)
            : NULL;
    if (type != NULL)
        return declare_packed(model, name, shape, type);
    return declare(model, name,
                   &(cse_state_options){ .shape = shape,
                                         .dtype = CSE_FLOAT32,
                                         .initializer = initializer,
                                         .trainable = trained });
}

cse_state *cse_model_adapter_parameter(cse_model *model, const char *name, cse_shape shape,
                                       cse_initializer initializer, bool trained)
{
    return declare(model, name,
                   &(cse_state_options){ .shape = shape,
                                         .dtype = CSE_FLOAT32,
                                         .initializer = initializer,
                                         .trainable = trained });
}

void cse_parameter_rate(cse_state *parameter, double factor)
{
    if (parameter != NULL)
        parameter->rate_factor = factor;
}

void cse_parameter_of_norm(cse_state *parameter)
{
    if (parameter != NULL)
        parameter->of_norm = true;
}

cse_state *cse_buffer(cse_model *model, const char *name, cse_shape shape,
                      cse_initializer initializer)
{
    return declare(
        model, name,
        &(cse_state_options){ .shape = shape, .dtype = CSE_FLOAT32, .initializer = initializer });
}

int cse_parameter_tensors(const cse_model *model)
{
    int count = 0;
    for (int i = 0; model != NULL && i < model->parameter_count; i++)
        count += model->parameters[i]->trainable;
    return count;
}

int64_t cse_parameter_count(const cse_model *model)
{
    int64_t elements = 0;
    for (int i = 0; model != NULL && i < model->parameter_count; i++)
        if (model->parameters[i]->trainable)
            elements += cse_shape_elements(model->parameters[i]->shape);
    return elements;
}

cse_state *cse_parameter_at(cse_model *model, int index)
{
    for (int i = 0; model != NULL && i < model->parameter_count; i++)
        if (model->parameters[i]->trainable && index-- == 0)
            return model->parameters[i];
    return NULL;
}
