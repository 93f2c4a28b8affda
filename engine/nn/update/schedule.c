/* Schedules: makes traceable parts from the three forms of the setting.
 *
 *   0.1                        ConstantLR
 *   {scheduler: NAME, ...} or {NAME: {...}}
 *   {library: PATH, name: NAME, ...}
 *   [part, part, ...]          SequentialLR over the parts (a list of one is that one); or
 *                              ChainedScheduler, where a part says {main_scheduler: chained, ...}
 *
 * Parts of a list whose names end with WD make a second schedule in the same way, of the weight
 * decay, and those that end with Momentum a third one. All count the same steps. Parts with
 * param_group_tags make schedules for the parameter groups that have one of the tags; the parts of
 * a group are read for it alone, as its factor may scale them. */
#include <stdio.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/base/config/decay_schedules.h"
#include "engine/base/config/schedule_tags.h"
#include "engine/base/config/settings.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/plugin_find.h"
#include "engine/nn/update/parameter_groups.h"

enum { MAX_NESTING = 4 };

/* The name and the settings of a part, from any of the forms. */
typedef struct written_part {
    const char *name;
    cse_yaml_node *settings;
    const char *library; /* that holds it, or NULL */
} written_part;

/* Where a part stands. */
typedef struct part_place {
    int depth;
    cse_scheduled what;
    const cse_parameter_group *group;
} part_place;

static cse_status read_part(cse_network *network, cse_yaml_node *node, part_place at,
                            cse_schedule_part **part);

static cse_yaml_node *mapping_of_one(cse_arena *arena, const char *key, cse_yaml_node *child)
{
    cse_yaml_node *mapping = cse_yaml_mapping_new(arena, child->place);
    cse_yaml_put(arena, mapping, (cse_yaml_key){ key, child->place }, child);
    return mapping;
}

/* The schedule that a list makes of its parts. */
static cse_status read_main(cse_arena *arena, const cse_yaml_node *list, const char **name)
{
    static const char *const names[][2] = {
        { "sequential", "SequentialLR" },           { "SequentialLR", "SequentialLR" },
        { "chained", "ChainedScheduler" },          { "ChainedLR", "ChainedScheduler" },
        { "ChainedScheduler", "ChainedScheduler" },
    };
    *name = "SequentialLR";
    for (int i = 0; i < list->count; i++) {
        const char *found = NULL;
        cse_yaml_node *word = cse_yaml_find(list->children[i], "main_scheduler");
        if (word == NULL)
            continue;
        for (size_t n = 0; word->kind == CSE_YAML_SCALAR && n < sizeof names / sizeof *names; n++)
            if (strcmp(word->text, names[n][0]) == 0)
                found = names[n][1];
        if (found == NULL)
            return cse_fail(CSE_CONFIG, "main_scheduler (%s): accepted are sequential and chained",
                            cse_yaml_place_text(arena, word->place));
        word->read = true;
        *name = found;
    }
    return CSE_OK;
}

static cse_status read_outside(cse_arena *arena, cse_yaml_node *node, written_part *written)
{
    static const char *const words[] = { "library", "name", "scheduler", "main_scheduler", NULL };
    cse_yaml_node *library = cse_yaml_find(node, "library"), *name = cse_yaml_find(node, "name");
    if (name == NULL)
        name = cse_yaml_find(node, "scheduler");
    if (library->kind != CSE_YAML_SCALAR || name == NULL || name->kind != CSE_YAML_SCALAR)
        return cse_fail(CSE_CONFIG, "schedule (%s): {library: PATH, name: NAME, ...} belongs here",
                        cse_yaml_place_text(arena, node->place));
    library->read = name->read = true;
    *written = (written_part){ name->text, cse_yaml_without(arena, node, words), library->text };
    return CSE_OK;
}

static cse_status read_form(cse_arena *arena, cse_yaml_node *node, written_part *written)
{
    static const char *const name_key[] = { "scheduler", "main_scheduler", NULL };
    cse_yaml_node *name = cse_yaml_find(node, "scheduler");
    if (cse_yaml_find(node, "library") != NULL)
        return read_outside(arena, node, written);
    if (node->kind == CSE_YAML_SCALAR && !cse_yaml_is_null(node)) {
        *written =
            (written_part){ "ConstantLR", mapping_of_one(arena, "learning_rate", node), NULL };
    } else if (node->kind == CSE_YAML_SEQUENCE && node->count > 1) {
        written->settings = mapping_of_one(arena, "schedulers", node);
        return read_main(arena, node, &written->name);
    } else if (name != NULL && name->kind == CSE_YAML_SCALAR) {
        name->read = true;
        *written = (written_part){ name->text, cse_yaml_without(arena, node, name_key), NULL };
    } else if (node->kind == CSE_YAML_MAPPING && node->count == 1) {
        *written = (written_part){ node->keys[0].text, node->children[0], NULL };
    } else {
        return cse_fail(CSE_CONFIG,
                        "schedule (%s): accepted are a number, {scheduler: NAME, ...}, "
                        "{NAME: {...}}, or a list of these",
                        cse_yaml_place_text(arena, node->place));
    }
    return CSE_OK;
}

/* The step at which child k + 1 begins: a given milestone, or the sum of total_iters before it. */
static cse_status read_milestones(cse_schedule_part *part)
{
    const cse_settings *settings = part->settings;
    int given =
        cse_settings_has(settings, "milestones") ? cse_settings_count(settings, "milestones") : -1;
    if (given >= 0 && given != part->child_count - 1)
        return cse_fail(CSE_CONFIG,
                        "schedule %s: milestones (%s) has %d entries; %d schedulers need %d",
                        part->descriptor->name, cse_settings_origin(settings, "milestones"), given,
                        part->child_count, part->child_count - 1);
    for (int k = 0; k < part->child_count - 1; k++) {
        const cse_schedule_part *child = part->children[k];
        int64_t before = k > 0 ? part->milestones[k - 1] : 0;
        if (given >= 0)
            part->milestones[k] = cse_settings_integer_at(settings, "milestones", k);
        else if (cse_setting_table_has(child->descriptor->settings, "total_iters") &&
                 cse_settings_has(child->settings, "total_iters"))
            part->milestones[k] = before + cse_settings_integer(child->settings, "total_iters");
        else
            return cse_fail(CSE_CONFIG,
                            "schedule %s: scheduler %d (%s) needs total_iters, since another "
                            "follows it and no milestones are given",
                            part->descriptor->name, k, child->descriptor->name);
        if (part->milestones[k] <= before || part->milestones[k] > INT32_MAX)
            return cse_fail(CSE_CONFIG,
                            "schedule %s: milestone %d is %lld; each must be greater than the one "
                            "before and at most 2147483647",
                            part->descriptor->name, k, (long long)part->milestones[k]);
    }
    return CSE_OK;
}

/* The one child of a schedule that changes another. */
static cse_status read_child(cse_network *network, cse_schedule_part *part, part_place at)
{
    if (at.depth++ == MAX_NESTING)
        return cse_fail(CSE_CONFIG, "schedule %s: schedules are nested more than %d deep",
                        part->descriptor->name, MAX_NESTING);
    part->children = cse_arena_alloc(network->arena, sizeof *part->children);
    CSE_TRY(
        read_part(network, cse_settings_node(part->settings, "scheduler"), at, &part->children[0]));
    part->child_count = 1;
    return CSE_OK;
}

static cse_status read_children(cse_network *network, cse_schedule_part *part, part_place at)
{
    cse_yaml_node *list = cse_settings_node(part->settings, "schedulers");
    if (list->kind != CSE_YAML_SEQUENCE || list->count == 0)
        return cse_fail(CSE_CONFIG, "schedule %s: schedulers (%s) must be a list of schedules",
                        part->descriptor->name, cse_settings_origin(part->settings, "schedulers"));
    if (at.depth++ == MAX_NESTING)
        return cse_fail(CSE_CONFIG, "schedule %s: schedules are nested more than %d deep",
                        part->descriptor->name, MAX_NESTING);
    size_t count = (size_t)list->count;
    part->children = cse_arena_alloc(network->arena, count * sizeof *part->children);
    part->milestones = cse_arena_alloc(network->arena, count * sizeof *part->milestones);
    for (int i = 0; i < list->count; i++) {
        CSE_TRY(read_part(network, list->children[i], at, &part->children[i]));
        part->child_count = i + 1;
    }
    bool in_turn = cse_setting_table_has(part->descriptor->settings, "milestones");
    return in_turn ? read_milestones(part) : CSE_OK;
}

/* What the messages call it, and the setting whose place it takes. */
static const char *const titles[CSE_SCHEDULED_COUNT] = { "the learning rate", "weight decay",
                                                         "momentum" };
static const char *const replaced[CSE_SCHEDULED_COUNT] = { "lr", "weight_decay", "momentum" };

/* A part of another value than the learning rate is named so, unless it is a number, a list or
 * inside one that is. */
static cse_status settle_name(cse_network *network, written_part *written, part_place at)
{
    const cse_scheduled what = cse_scheduled_by(written->name);
    if (what != CSE_SCHEDULED_RATE && what != at.what)
        return cse_fail(CSE_CONFIG,
                        "schedule %s (%s): a schedule of %s cannot be a part of one of %s: write "
                        "it beside that, in the list of schedulers",
                        written->name,
                        cse_yaml_place_text(network->arena, written->settings->place), titles[what],
                        titles[at.what]);
    cse_decay_schedule_rename(network->arena, &written->name, &written->settings);
    return CSE_OK;
}

static cse_status find_schedule(cse_network *network, const written_part *written,
                                const cse_yaml_node *node, const void **descriptor)
{
    const cse_plugin_wanted wanted = { .kind = "schedule",
                                       .library = written->library,
                                       .name = written->name,
                                       .table = cse_schedules,
                                       .any_case = true };
    cse_status status = cse_network_plugin_find(&wanted, descriptor, NULL);
    if (status == CSE_OK || node->place.source == NULL || *node->place.source == '\0')
        return status;
    return cse_fail_within(status,
                           "schedulers: %s: ", cse_yaml_place_text(network->arena, node->place));
}

static cse_status read_part(cse_network *network, cse_yaml_node *node, part_place at,
                            cse_schedule_part **result)
{
    char subject[128];
    written_part written = { NULL, NULL, NULL };
    const void *descriptor = NULL;
    while (node->kind == CSE_YAML_SEQUENCE && node->count == 1)
        node = node->children[0];
    CSE_TRY(read_form(network->arena, node, &written));
    CSE_TRY(settle_name(network, &written, at));
    CSE_TRY(find_schedule(network, &written, node, &descriptor));
    cse_schedule_part *part = cse_arena_alloc(network->arena, sizeof *part);
    *result = part;
    part->descriptor = descriptor;
    part->adjust_learning_rate = at.group->adjust_learning_rate;
    snprintf(subject, sizeof subject, "schedule %s", part->descriptor->name);
    CSE_TRY(
        cse_network_check(part->descriptor->settings, subject, written.settings, &part->settings));
    if (cse_setting_table_has(part->descriptor->settings, "schedulers"))
        CSE_TRY(read_children(network, part, at));
    if (cse_setting_table_has(part->descriptor->settings, "scheduler"))
        CSE_TRY(read_child(network, part, at));
    return part->descriptor->check ? part->descriptor->check(part) : CSE_OK;
}

static cse_scheduled scheduled_by_part(const cse_yaml_node *node)
{
    const cse_yaml_node *name = cse_yaml_find(node, "scheduler");
    if (name == NULL && cse_yaml_find(node, "library") != NULL)
        name = cse_yaml_find(node, "name");
    if (name != NULL)
        return name->kind == CSE_YAML_SCALAR ? cse_scheduled_by(name->text) : CSE_SCHEDULED_RATE;
    return node->kind == CSE_YAML_MAPPING && node->count == 1 ? cse_scheduled_by(node->keys[0].text)
                                                              : CSE_SCHEDULED_RATE;
}

/* ---- which parts are for which group ---- */

static bool is_tagged(const cse_parameter_group *group, const cse_yaml_node *tags)
{
    const bool is_list = tags->kind == CSE_YAML_SEQUENCE;
    for (int i = 0; i < (is_list ? tags->count : 1); i++) {
        const cse_yaml_node *tag = is_list ? tags->children[i] : tags;
        if (cse_group_has_tag(group, cse_yaml_is_null(tag) ? NULL : tag->text))
            return true;
    }
    return false;
}

/* Each tag that a schedule names must be one of a group's. */
static cse_status check_tags(cse_network *network, const cse_optimizer *optimizer,
                             const cse_yaml_node *tags)
{
    const bool is_list = tags->kind == CSE_YAML_SEQUENCE;
    for (int i = 0; i < (is_list ? tags->count : 1); i++) {
        cse_yaml_node *tag = is_list ? tags->children[i] : (cse_yaml_node *)(uintptr_t)tags;
        bool known = false;
        tag->read = true;
        for (int g = 0; tag->kind == CSE_YAML_SCALAR && g < optimizer->group_count; g++)
            known = known || cse_group_has_tag(&optimizer->groups[g],
                                               cse_yaml_is_null(tag) ? NULL : tag->text);
        if (!known)
            return cse_fail(CSE_CONFIG,
                            "schedule: param_group_tags (%s): no parameter group of the optimizer "
                            "has the tag '%s'; groups get tags by the optimizer's setting params",
                            cse_yaml_place_text(network->arena, tags->place),
                            tag->kind == CSE_YAML_SCALAR ? tag->text : "[...]");
    }
    return CSE_OK;
}

/* The parts of one kind for a group: those with its tags, else those without tags. */
typedef struct chosen_parts {
    cse_yaml_node *tagged, *untagged;
} chosen_parts;

static cse_yaml_node *settled(const chosen_parts *chosen)
{
    return chosen->tagged->count > 0 ? chosen->tagged : chosen->untagged;
}

static cse_status choose_parts(cse_network *network, const cse_optimizer *optimizer,
                               const cse_parameter_group *group, cse_yaml_node *tree,
                               cse_yaml_node *lists[CSE_SCHEDULED_COUNT])
{
    cse_arena *arena = network->arena;
    chosen_parts chosen[CSE_SCHEDULED_COUNT];
    const bool is_list = tree->kind == CSE_YAML_SEQUENCE;
    for (int k = 0; k < CSE_SCHEDULED_COUNT; k++)
        chosen[k] = (chosen_parts){ cse_yaml_sequence_new(arena, tree->place),
                                    cse_yaml_sequence_new(arena, tree->place) };
    for (int i = 0; i < (is_list ? tree->count : 1); i++) {
        cse_yaml_node *tags = NULL;
        cse_yaml_node *part =
            cse_schedule_take_tags(arena, is_list ? tree->children[i] : tree, &tags);
        chosen_parts *of_kind = &chosen[scheduled_by_part(part)];
        if (tags == NULL) {
            cse_yaml_append(arena, of_kind->untagged, part);
            continue;
        }
        CSE_TRY(check_tags(network, optimizer, tags));
        if (is_tagged(group, tags))
            cse_yaml_append(arena, of_kind->tagged, part);
    }
    for (int k = 0; k < CSE_SCHEDULED_COUNT; k++)
        lists[k] = settled(&chosen[k]);
    return CSE_OK;
}

/* The schedule of weight decay or momentum, beside that of the learning rate. An update rule
 * without momentum keeps no buffer for it. */
static cse_status read_other(cse_network *network, const cse_optimizer *optimizer,
                             cse_yaml_node *list, part_place at, cse_schedule_part **part)
{
    const char *setting = replaced[at.what];
    if (!cse_setting_table_has(optimizer->descriptor->settings, setting))
        return cse_fail(CSE_CONFIG, "schedulers (%s): the optimizer %s has no %s",
                        cse_yaml_place_text(network->arena, list->place),
                        optimizer->descriptor->name, setting);
    if (at.what == CSE_SCHEDULED_MOMENTUM &&
        cse_settings_number(at.group->settings, "momentum") == 0)
        return cse_fail(CSE_CONFIG,
                        "schedulers (%s): the momentum has a schedule, and the optimizer %s is "
                        "without: give it a momentum above 0, whose place the schedule takes",
                        cse_yaml_place_text(network->arena, list->place),
                        optimizer->descriptor->name);
    return read_part(network, list, at, part);
}

/* All schedules of a group, from a list with the parts of each or from one part. */
static cse_status read_all(cse_network *network, const cse_optimizer *optimizer,
                           cse_yaml_node *tree, cse_parameter_group *group)
{
    double rate;
    cse_yaml_node *lists[CSE_SCHEDULED_COUNT];
    cse_schedule_part **parts[] = { &group->rate, &group->weight_decay, &group->momentum };
    CSE_TRY(choose_parts(network, optimizer, group, tree, lists));
    const cse_yaml_node *rates = lists[CSE_SCHEDULED_RATE];
    for (int what = CSE_SCHEDULED_RATE + 1; what < CSE_SCHEDULED_COUNT; what++) {
        if (lists[what]->count == 0)
            continue;
        if (rates->count == 0 && !cse_group_constant_rate(optimizer, group, &rate))
            return cse_fail(CSE_CONFIG,
                            "schedulers (%s): the %s has a schedule, so the learning rate must "
                            "have one: add {ConstantLR: {learning_rate: ...}} to the list, or give "
                            "the optimizer lr",
                            cse_yaml_place_text(network->arena, tree->place), titles[what]);
        CSE_TRY(read_other(network, optimizer, lists[what],
                           (part_place){ 0, (cse_scheduled)what, group }, parts[what]));
    }
    /* An empty list is told as the mistake that it is, unless all parts are for other groups. */
    if (rates->count == 0 && (tree->kind != CSE_YAML_SEQUENCE || tree->count > 0))
        return CSE_OK;
    return read_part(network, rates->count > 0 ? lists[CSE_SCHEDULED_RATE] : tree,
                     (part_place){ 0, CSE_SCHEDULED_RATE, group }, &group->rate);
}

cse_schedule *cse_configured_schedule(cse_optimizer *optimizer, cse_yaml_node *tree)
{
    cse_network *network = cse_network_open_view("cse_configure_schedule");
    if (network == NULL || optimizer == NULL)
        return NULL;
    cse_schedule *schedule = cse_arena_alloc(network->arena, sizeof *schedule);
    cse_status status = CSE_OK;
    if (optimizer->schedule != NULL)
        status = cse_fail(CSE_USAGE, "cse_configure_schedule: the optimizer %s has a schedule",
                          optimizer->descriptor->name);
    for (int g = 0; status == CSE_OK && g < optimizer->group_count; g++)
        status = read_all(network, optimizer, tree, &optimizer->groups[g]);
    if (status != CSE_OK) {
        cse_network_fail(status);
        return NULL;
    }
    schedule->part = optimizer->groups[0].rate;
    schedule->last_epoch =
        cse_network_state(&(cse_state_options){ .shape = cse_scalar_shape, .dtype = CSE_INT32 },
                          "schedulers.%d.last_epoch", network->schedule_count);
    if (schedule->last_epoch == NULL)
        return NULL;
    network->schedule_count++;
    return optimizer->schedule = schedule;
}

cse_tensor *cse_schedule_value(cse_step *step, const char *settings, cse_tensor *t)
{
    static const cse_parameter_group alone = { .adjust_learning_rate = 1 };
    cse_schedule_part *part = NULL;
    cse_network *network = step->network;
    cse_yaml_node *tree = cse_network_text("cse_schedule_value", "schedule", settings);
    if (tree == NULL)
        return cse_trace_fail(cse_error_last()->status, "%s", cse_error_message());
    if (cse_tensor_dtype(t) != CSE_INT32 || cse_tensor_shape(t).rank != 0 || cse_tensor_is_batch(t))
        return cse_trace_fail(CSE_SHAPE,
                              "cse_schedule_value: the step must be an int32 scalar that "
                              "does not depend on the batch");
    const cse_status status =
        read_part(network, tree, (part_place){ 0, CSE_SCHEDULED_RATE, &alone }, &part);
    if (status != CSE_OK)
        return cse_trace_fail(status, "%s", cse_error_message());
    return cse_schedule_part_rate(part, t);
}

cse_schedule *cse_configure_schedule(cse_optimizer *optimizer, const char *settings)
{
    cse_yaml_node *tree = cse_network_text("cse_configure_schedule", "schedule", settings);
    return tree != NULL ? cse_configured_schedule(optimizer, tree) : NULL;
}
