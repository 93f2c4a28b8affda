/* A mask says for each element of a parameter whether it is trained. It is a state of the
 * optimizer, optimizer.NAME.requires_grad, made once of the weights that training begins with: a
 * checkpoint has it, so that a run that goes on has the same one, and one that begins with the
 * weights of a checkpoint without masks makes them of those weights.
 *
 * Gradients are masked where they are taken, so that norms and clipping see what is trained. The
 * update rule sees zeros in place of all other elements (weight, gradient and states), as in
 * cerebras.pytorch, whose norms over a parameter are the same therefore; what it makes of them is
 * dropped, and the weight stays as it is, bit by bit. */
#include "engine/nn/update/selective_gradients.h"

#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/base/config/settings.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/update/gradients.h"

/* How a mask is made of a parameter's values. */
typedef struct cse_selection {
    cse_state *parameter;
    double upper_threshold;      /* of `outlier`, in standard deviations */
    cse_mask_function *function; /* of the program; NULL: `outlier` */
    void *self;
} cse_selection;

static const cse_setting selection_table[] = {
    { .name = "param_filter",
      .type = CSE_SETTING_ANY,
      .default_value = "null",
      .doc = "patterns of parameter names; null: all of rank 2 and more but embeddings, norms and "
             "lm_head" },
    { .name = "init_method",
      .type = CSE_SETTING_CHOICE,
      .default_value = "outlier",
      .choices = "outlier",
      .doc = "which elements are trained: those whose magnitude is at least upper_threshold "
             "standard deviations of the magnitudes along the first axis" },
    { .name = "upper_threshold",
      .type = CSE_SETTING_NUMBER,
      .default_value = "2.25",
      .min = 0,
      .max = 1e6,
      .doc = "of init_method outlier, in standard deviations" },
    { .name = NULL },
};

/* ---- the values of a mask ---- */

/* Along the first axis, with the divisor rows - 1: undefined for one row, which selects nothing. */
static void fill_outliers(const cse_selection *selection, const float *values, int32_t *mask)
{
    const cse_shape shape = selection->parameter->shape;
    const int64_t rows = shape.rank > 0 ? shape.dims[0] : 1;
    const int64_t columns = cse_shape_elements(shape) / rows;
    double *sums = cse_calloc((size_t)columns * 2, sizeof *sums);
    double *squares = sums + columns;
    for (int64_t i = 0; i < rows * columns; i++)
        sums[i % columns] += fabs((double)values[i]);
    for (int64_t i = 0; i < rows * columns; i++) {
        const double distance = fabs((double)values[i]) - sums[i % columns] / (double)rows;
        squares[i % columns] += distance * distance;
    }
    for (int64_t i = 0; i < rows * columns; i++) {
        const double deviation = sqrt(squares[i % columns] / ((double)rows - 1));
        mask[i] = fabs((double)values[i]) >= selection->upper_threshold * deviation;
    }
    free(sums);
}

/* Computes the values of a mask from those of its parameter. */
static void fill(cse_network *network, cse_state *state)
{
    const cse_selection *selection = state->selection;
    int32_t *mask = cse_state_own_values(state);
    const float *values = cse_state_values(network, selection->parameter);
    const int64_t elements = cse_shape_elements(selection->parameter->shape);
    if (selection->function == NULL) {
        fill_outliers(selection, values, mask);
        return;
    }
    bool *selected = cse_calloc((size_t)elements, sizeof *selected);
    selection->function(selection->self, &(cse_mask_request){ .name = selection->parameter->name,
                                                              .shape = selection->parameter->shape,
                                                              .values = values,
                                                              .selected = selected });
    for (int64_t i = 0; i < elements; i++)
        mask[i] = selected[i];
    free(selected);
}

static const cse_state_rule mask_rule = { .fill = fill };

void cse_network_settle_selections(cse_network *network)
{
    for (int i = 0; i < network->state_count; i++)
        if (network->states[i]->selection != NULL)
            cse_state_values(network, network->states[i]);
}

/* ---- which parameters have one ---- */

static bool matches(const char *pattern, const cse_state *parameter)
{
    return fnmatch(pattern, parameter->name, 0) == 0 ||
           fnmatch(pattern, cse_short_name(parameter->name), 0) == 0;
}

static bool is_chosen_by_default(const cse_state *parameter)
{
    static const char *const others[] = { "embedding", "norm", "lm_head", "pe_helper" };
    char name[512];
    snprintf(name, sizeof name, "%s", parameter->name);
    for (char *c = name; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    bool found = false;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        found = found || strstr(name, others[i]) != NULL;
    return !found && parameter->shape.rank > 1;
}

static cse_status add_mask(cse_network *network, cse_optimized *one, const cse_selection *how)
{
    if (one->mask != NULL)
        return CSE_OK; /* the first that chooses a parameter stands */
    cse_selection *selection = cse_arena_alloc(network->arena, sizeof *selection);
    *selection = *how;
    selection->parameter = one->parameter;
    one->mask = cse_network_state(
        &(cse_state_options){ .shape = one->parameter->shape, .dtype = CSE_INT32 },
        "optimizer.%s.requires_grad", cse_short_name(one->parameter->name));
    if (one->mask == NULL)
        return network->error;
    one->mask->selection = selection;
    one->mask->rule = &mask_rule;
    return CSE_OK;
}

/* The masks of one pattern; one that matches nothing is a mistake. */
static cse_status add_masks(cse_optimizer *optimizer, const cse_yaml_node *pattern,
                            const cse_selection *how)
{
    cse_network *network = cse_network_open_view("cse_select_gradients");
    bool any = false;
    for (int i = 0; i < optimizer->count; i++) {
        cse_optimized *one = &optimizer->optimized[i];
        if (pattern != NULL ? !matches(pattern->text, one->parameter)
                            : !is_chosen_by_default(one->parameter))
            continue;
        any = true;
        CSE_TRY(add_mask(network, one, how));
    }
    if (any)
        return CSE_OK;
    const char *example = optimizer->count > 0
                              ? cse_short_name(optimizer->optimized[0].parameter->name)
                              : "fc.weight";
    if (pattern == NULL)
        return cse_fail(CSE_CONFIG,
                        "selective gradients: the optimizer has no parameter of rank 2 or more but "
                        "embeddings, norms and lm_head; give a param_filter, as in %s",
                        example);
    return cse_fail_at(CSE_ERROR_AT("", pattern->place),
                       "selective gradients: the pattern \"%.120s\" matches no parameter of the "
                       "optimizer; accepted: names and patterns of names, as in %s",
                       pattern->text, example);
}

/* ---- settings ---- */

static cse_status check_one(const char *subject, cse_yaml_node *node, const cse_settings **settings)
{
    CSE_TRY(cse_network_check(selection_table, subject, node, settings));
    const cse_yaml_node *filter = cse_settings_node(*settings, "param_filter");
    bool sound =
        filter->kind != CSE_YAML_MAPPING && (filter->kind == CSE_YAML_SCALAR || filter->count > 0);
    for (int i = 0; sound && filter->kind == CSE_YAML_SEQUENCE && i < filter->count; i++)
        sound = filter->children[i]->kind == CSE_YAML_SCALAR;
    return sound ? CSE_OK
                 : cse_fail_at(CSE_ERROR_AT("", filter->place),
                               "%s: param_filter is a pattern of parameter names or a list of "
                               "them, as in \"fc*.weight\"",
                               subject);
}

static cse_status select_by(cse_optimizer *optimizer, const cse_settings *settings,
                            cse_selection how)
{
    cse_yaml_node *filter = cse_settings_node(settings, "param_filter");
    how.upper_threshold = cse_settings_number(settings, "upper_threshold");
    cse_settings_text(settings, "init_method");
    cse_settings_text(settings, "param_filter"); /* it is read, with all below it */
    if (cse_yaml_is_null(filter))
        return add_masks(optimizer, NULL, &how);
    if (filter->kind == CSE_YAML_SCALAR)
        return add_masks(optimizer, filter, &how);
    for (int i = 0; i < filter->count; i++) {
        filter->children[i]->read = true;
        CSE_TRY(add_masks(optimizer, filter->children[i], &how));
    }
    return CSE_OK;
}

/* Checks each mapping, and does what it says. */
static cse_status walk(const char *subject, cse_yaml_node *tree, cse_optimizer *optimizer)
{
    const bool is_list = tree->kind == CSE_YAML_SEQUENCE;
    for (int i = 0; !cse_yaml_is_null(tree) && i < (is_list ? tree->count : 1); i++) {
        cse_yaml_node *node = is_list ? tree->children[i] : tree;
        const cse_settings *settings = NULL;
        if (node->kind != CSE_YAML_MAPPING)
            return cse_fail_at(CSE_ERROR_AT("", node->place),
                               "%s: expects {param_filter: PATTERN, init_method: outlier}, or a "
                               "list of such mappings",
                               subject);
        CSE_TRY(check_one(subject, node, &settings));
        CSE_TRY(select_by(optimizer, settings, (cse_selection){ .parameter = NULL }));
    }
    return CSE_OK;
}

cse_status cse_configured_selection(cse_optimizer *optimizer, cse_yaml_node *tree)
{
    return walk("selective gradients", tree, optimizer);
}

/* ---- the public calls ---- */

static cse_network *begin_call(const char *caller, const cse_optimizer *optimizer)
{
    cse_network *network = cse_network_open_view(caller);
    if (network == NULL || optimizer == NULL)
        return NULL;
    if (network->traced == NULL && !network->executing)
        return network;
    cse_network_fail(cse_fail(CSE_USAGE,
                              "%s: masks are states, which are made before the first step and "
                              "outside of executions",
                              caller));
    return NULL;
}

void cse_select_gradients(cse_optimizer *optimizer, const char *settings)
{
    const char *caller = "cse_select_gradients";
    if (begin_call(caller, optimizer) == NULL)
        return;
    cse_yaml_node *tree = cse_network_text(caller, caller, settings != NULL ? settings : "{}");
    if (tree == NULL)
        return;
    cse_status status = walk(caller, tree, optimizer);
    if (status != CSE_OK)
        cse_network_fail(status);
}

void cse_select_gradients_by(cse_optimizer *optimizer, const char *param_filter,
                             cse_mask_function *function, void *self)
{
    cse_network *network = begin_call("cse_select_gradients_by", optimizer);
    if (network == NULL)
        return;
    const cse_selection how = { .function = function, .self = self };
    const cse_place nowhere = { NULL, 0, 0 };
    cse_status status =
        function == NULL
            ? cse_fail(CSE_USAGE, "cse_select_gradients_by: there is no function that makes masks")
            : add_masks(optimizer,
                        param_filter != NULL
                            ? cse_yaml_scalar_new(network->arena, nowhere, param_filter)
                            : NULL,
                        &how);
    if (status != CSE_OK)
        cse_network_fail(status);
}

/* ---- in a step ---- */

cse_tensor *cse_selected_or(const cse_optimized *one, cse_tensor *chosen, cse_tensor *other)
{
    if (one->mask == NULL || cse_trace_is_poison(chosen))
        return chosen;
    return cse_where(cse_greater(cse_read(one->mask), cse_constant_int(0)), chosen, other);
}

cse_tensor *cse_selected_or_zero(const cse_optimized *one, cse_tensor *x)
{
    if (one->mask == NULL || cse_trace_is_poison(x) ||
        !cse_shape_equal(x->shape, one->parameter->shape))
        return x;
    return cse_selected_or(one, x, cse_constant(0));
}
