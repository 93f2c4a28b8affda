/* Opening and closing the session. */
#include "run/session/open_session.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/config/config_rules.h"
#include "engine/base/config/precision_settings.h"
#include "engine/base/config/recompute_settings.h"
#include "engine/base/config/settings.h"
#include "engine/base/config/states_settings.h"
#include "engine/base/confinement.h"
#include "engine/base/error.h"
#include "engine/base/path.h"
#include "engine/code/execute/execute.h"
#include "engine/nn/adapters/adapter.h"
#include "engine/nn/freezing.h"
#include "engine/nn/owner.h"
#include "run/execution/runner.h"
#include "run/execution/standing_arena.h"
#include "run/saving/background_save.h"
#include "run/saving/weights_link.h"
#include "run/saving/weights_sources.h"
#include "run/session/adapters.h"

static cse_status check_count(const char *name, int *value, int least, int default_value)
{
    if (*value == 0)
        *value = default_value;
    if (*value < least)
        return cse_fail(CSE_CONFIG, "%s is %d; it must be at least %d", name, *value, least);
    return CSE_OK;
}

static cse_status check_labels(const char *const *labels)
{
    for (int i = 0; labels != NULL && labels[i] != NULL; i++)
        if (!cse_config_is_label(labels[i]))
            return cse_fail(CSE_CONFIG,
                            "job_labels: '%s' is no label; accepted is key=value, each of at most "
                            "63 letters, digits, '-', '_' and '.', beginning and ending with a "
                            "letter or digit",
                            labels[i]);
    return CSE_OK;
}

static cse_status check_priority(const char *priority)
{
    static const char *const accepted[] = { "p1", "p2", "p3" };
    for (size_t i = 0; priority != NULL && i < sizeof accepted / sizeof accepted[0]; i++)
        if (strcmp(priority, accepted[i]) == 0)
            return CSE_OK;
    return priority == NULL
               ? CSE_OK
               : cse_fail(CSE_CONFIG, "job_priority is '%s'; accepted: p1, p2, p3", priority);
}

static cse_status set_cluster(cse_session *session)
{
    cse_configuration *c = &session->configuration;
    CSE_TRY(check_count("num_csx", &c->num_csx, 1, 1));
    CSE_TRY(check_count("num_workers_per_csx", &c->num_workers_per_csx, 1, 1));
    CSE_TRY(check_count("max_wgt_servers", &c->max_wgt_servers, 0, 0));
    CSE_TRY(check_labels(c->job_labels));
    CSE_TRY(check_priority(c->job_priority));
    if (c->job_time_sec < 0)
        return cse_fail(CSE_CONFIG, "job_time_sec is %lld; it must not be negative",
                        (long long)c->job_time_sec);
    if (!(c->audit_fraction >= 0 && c->audit_fraction <= 1))
        return cse_fail(CSE_CONFIG,
                        "audit_fraction is %g; accepted: 0 (no audits) to 1 (each microbatch)",
                        c->audit_fraction);
    const char *payload = c->weight_grad_reduce ? c->weight_grad_reduce : "fp32";
    cse_rounding reduced = { 0 };
    cse_binding binding;
    CSE_TRY(cse_binding_read(c->binding, &binding));
    if (!cse_rounding_from_name(payload, &reduced))
        return cse_fail(CSE_CONFIG,
                        "weight_grad_reduce is '%s'; accepted: " CSE_CHOICES_TEXT(CSE_ROUNDINGS),
                        payload);
    session->opened.cluster = (cse_cluster_options){ .num_csx = c->num_csx,
                                                     .num_workers_per_csx = c->num_workers_per_csx,
                                                     .max_wgt_servers = c->max_wgt_servers,
                                                     .weight_grad_reduce = reduced,
                                                     .binding = binding,
                                                     .audit_fraction = c->audit_fraction,
                                                     .worker_executable = c->worker_executable };
    return CSE_OK;
}

static cse_status set_states_place(cse_session *session, const cse_settings *settings)
{
    cse_states_place place;
    CSE_TRY(cse_states_place_read(settings, &place));
    if (place.directory != NULL && session->configuration.audit_fraction > 0)
        return cse_fail(
            CSE_CONFIG,
            "audit_fraction is %g and states.keep_in is file: a gradient is never whole "
            "in memory then, and cannot be audited; leave out one of the two",
            session->configuration.audit_fraction);
    session->opened.cluster.states_directory = cse_arena_string(session->arena, place.directory);
    session->opened.cluster.states_memory_bytes = place.memory_bytes;
    session->opened.cluster.states_by_layers = place.schedule == CSE_STATES_BY_LAYERS;
    session->opened.cluster.states_by_layers_with_room = place.schedule == CSE_STATES_BY_ROOM;
    session->opened.cluster.state_copies = place.copies;
    session->opened.cluster.cuts_gradients = place.cuts_gradients;
    session->opened.cluster.gather_directory = session->configuration.model_dir;
    return CSE_OK;
}

static cse_status set_weight_update(cse_session *session)
{
    static const struct {
        const char *name;
        cse_weight_update value;
    } rows[] = { CSE_CHOICE_ROWS(CSE_WEIGHT_UPDATES) };
    const char *given = session->configuration.weight_update;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (given == NULL || strcmp(rows[i].name, given) == 0) {
            session->network.weight_update = rows[i].value;
            return CSE_OK;
        }
    return cse_fail(CSE_CONFIG,
                    "weight_update is '%s'; accepted: " CSE_CHOICES_TEXT(CSE_WEIGHT_UPDATES),
                    given);
}

static const char *const *copy_labels(cse_arena *arena, const char *const *labels)
{
    int count = 0;
    while (labels != NULL && labels[count] != NULL)
        count++;
    const char **copies = cse_arena_alloc(arena, ((size_t)count + 1) * sizeof *copies);
    for (int i = 0; i < count; i++)
        copies[i] = cse_arena_string(arena, labels[i]);
    return copies;
}

static cse_status set_path(cse_arena *arena, const char *name, const char **path)
{
    const char *given = cse_arena_string(arena, *path);
    const char *problem = cse_path_expand(arena, given, path);
    if (problem == NULL)
        return CSE_OK;
    return cse_fail(CSE_CONFIG, "%s: \"%.200s\" %s; %s", name, given, problem, cse_path_hint);
}

static cse_status set_directories(cse_session *session)
{
    cse_configuration *c = &session->configuration;
    if (c->model_dir == NULL)
        c->model_dir = "./model_dir";
    CSE_TRY(set_path(session->arena, "model_dir", &c->model_dir));
    if (c->compile_dir == NULL)
        c->compile_dir = cse_arena_printf(session->arena, "%s/compiled", c->model_dir);
    CSE_TRY(set_path(session->arena, "compile_dir", &c->compile_dir));
    char where[PATH_MAX];
    c->compile_dir =
        cse_arena_string(session->arena, cse_confined_output(c->compile_dir, where, sizeof where));
    return CSE_OK;
}

/* A session whose cse_configure failed gives way to the next; any other must be finished first. */
static cse_status check_free(void)
{
    CSE_TRY(cse_network_check_owner("cse_configure"));
    if (cse_session_held() != NULL && !cse_session_held()->opened.refused)
        return cse_fail(CSE_USAGE, "cse_configure: a session is open already; there is one in a "
                                   "process, until cse_finish");
    cse_finish();
    return CSE_OK;
}

static void open_session(const cse_configuration *configuration)
{
    cse_session *session = cse_calloc(1, sizeof *session);
    session->arena = cse_arena_new();
    cse_configuration *c = &session->configuration;
    *c = *configuration;
    c->worker_executable = cse_arena_string(session->arena, c->worker_executable);
    c->dashboard = cse_arena_string(session->arena, c->dashboard);
    c->job_labels = copy_labels(session->arena, c->job_labels);
    c->job_priority = cse_arena_string(session->arena, c->job_priority);
    c->precision_origin = cse_arena_string(session->arena, c->precision_origin);
    session->execution.started_ns = cse_clock_ns();
    session->network.arena = session->arena;
    session->network.seed = c->seed;
    cse_session_set_open(session);
    cse_network_open(&session->network);
}

/* Fills in and checks the configuration. */
static cse_status complete_session(const cse_session_sections *sections)
{
    cse_session *session = cse_session_held();
    CSE_TRY(set_directories(session));
    if (sections->precision != NULL)
        CSE_TRY(cse_session_take_precision(session, sections->precision));
    cse_session_explain_format(session, sections->precision);
    CSE_TRY(set_cluster(session));
    CSE_TRY(set_states_place(session, sections->states));
    CSE_TRY(set_weight_update(session));
    CSE_TRY(cse_freezing_new(session->arena, sections->freezing, &session->network.freezing));
    session->network.parameter_names = cse_session_parameter_names;
    CSE_TRY(cse_adapter_read(session->arena, sections->adapters, &session->network.adapter));
    session->opened.recompute = cse_session_recompute_request(session->arena, sections->recompute);
    session->opened.memory_limit_bytes = sections->memory_limit_bytes;
    session->opened.cluster.memory_limit_bytes = sections->memory_limit_bytes;
    return sections->numerics != NULL
               ? cse_numerics_new(sections->numerics, &session->opened.numerics)
               : CSE_OK;
}

/* The session stays, in order to tell its failure to those that ask later. */
static cse_status end_configuring(cse_status status)
{
    if (status == CSE_OK)
        return CSE_OK;
    cse_session_held()->opened.refused = true;
    return cse_network_fail(status);
}

static cse_status parse_section(const cse_setting *table, const char *subject, const char *yaml,
                                const cse_settings **settings)
{
    cse_yaml_node *tree = NULL;
    if (yaml == NULL)
        return CSE_OK;
    CSE_TRY(cse_network_parse(subject, yaml, &tree));
    return cse_network_check(table, subject, tree, settings);
}

cse_status cse_session_configure_texts(const cse_configuration *configuration)
{
    cse_session_sections sections = { .precision = NULL };
    CSE_TRY(check_free());
    open_session(configuration);
    cse_session_held()->opened.tells_format = true;
    cse_status status = parse_section(cse_precision_setting_table, "precision",
                                      configuration->precision, &sections.precision);
    if (status == CSE_OK)
        status = parse_section(cse_numerics_setting_table, "numerics", configuration->numerics,
                               &sections.numerics);
    if (status == CSE_OK)
        status = parse_section(cse_recompute_setting_table, "recompute", configuration->recompute,
                               &sections.recompute);
    if (status == CSE_OK)
        status = parse_section(cse_states_setting_table, "states", configuration->states,
                               &sections.states);
    if (status == CSE_OK && configuration->adapters != NULL)
        status = cse_network_parse("adapters", configuration->adapters, &sections.adapters);
    if (status == CSE_OK)
        status = cse_session_check_adapters(sections.adapters);
    return end_configuring(status == CSE_OK ? complete_session(&sections) : status);
}

cse_status cse_session_configure(const cse_configuration *configuration,
                                 const cse_session_sections *sections)
{
    CSE_TRY(check_free());
    open_session(configuration);
    return end_configuring(complete_session(sections));
}

void cse_finish(void)
{
    cse_session *session = cse_session_held();
    if (session == NULL || cse_network_check_owner("cse_finish") != CSE_OK)
        return;
    cse_session_abandon_loop(session);
    if (session->recording.end != NULL)
        session->recording.end(session->recording.self, session);
    cse_session_set_open(NULL);
    cse_network_close();
    cse_network_clear(&session->network);
    cse_session_end_capture(session);
    cse_session_end_mapped(session);
    cse_session_clear_arenas(session);
    cse_control_endpoint_close(&session->execution.endpoint);
    cse_numerics_destroy(&session->opened.numerics);
    cse_weights_link_clear(session);
    cse_weights_sources_clear(session);
    free(session->saving.links_text);
    cse_session_clear_data(session);
    cse_name_index_clear(&session->scalars.names);
    free(session->execution.outcome);
    if (session->execution.artefact != NULL)
        cse_kept_artefact_clear(session->execution.artefact);
    free(session->execution.artefact);
    cse_arena_destroy(&session->arena);
    free(session);
}
