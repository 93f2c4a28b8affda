/* The C is read from the folder that the run was compiled to, as long as it is there, and the plan
 * with it; without it, the plan is that of the run's store. */
#include "run/measure/kernel_view.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/code/codegen/generated_function.h"
#include "engine/code/codegen/plan_file.h"
#include "engine/graph/names.h"
#include "run/measure/compiled_files.h"
#include "run/measure/roofline.h"

/* Between two measurements of the machine. */
#define LEAST_PAUSE_NS (INT64_C(60) * 1000000000)

/* ---- the C ---- */

static void take_source(const cse_text *source, int number, cse_kernel_view *view)
{
    size_t size = 0;
    const char *function = cse_generated_function(source->data, number, &size);
    if (function == NULL)
        return;
    view->function = number;
    cse_text_add_bytes(&view->source, function, size);
}

static cse_status take_function(const cse_artefact *artefact, const char *directory, int64_t kernel,
                                cse_kernel_view *view, cse_graph **graph)
{
    cse_plan_file plan;
    const cse_text *source = &artefact->files[CSE_ARTEFACT_SOURCE];
    CSE_TRY(cse_plan_file_read(&artefact->files[CSE_ARTEFACT_PLAN], directory, NULL, &plan));
    if (kernel < plan.program.group_count && source->size > 0)
        take_source(source, plan.program.functions_of[kernel], view);
    *graph = plan.graph;
    plan.graph = NULL;
    cse_plan_file_clear(&plan);
    return CSE_OK;
}

static void read_artefact(cse_store_reader *reader, int64_t kernel, cse_kernel_view *view,
                          cse_graph **graph)
{
    cse_text directory;
    cse_artefact artefact;
    snprintf(view->source_missing, sizeof view->source_missing, "no C was written for it");
    cse_status status = cse_compiled_files_read(reader, &directory, &artefact);
    if (status == CSE_OK)
        status = take_function(&artefact, directory.data, kernel, view, graph);
    if (status != CSE_OK)
        snprintf(view->source_missing, sizeof view->source_missing, "%s", cse_error_message());
    cse_artefact_clear(&artefact);
    cse_text_clear(&directory);
}

static cse_status read_graph(cse_store_reader *reader, cse_graph **graph)
{
    cse_text content = { 0 };
    cse_status status = cse_store_reader_artefact(reader, "graph.training.json", &content, NULL, 0);
    if (status == CSE_OK)
        status = cse_graph_from_json(content.data, content.size, graph);
    cse_text_clear(&content);
    return status;
}

/* ---- limits ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cse_machine_limits limits; /* all 0: not measured */
static int64_t measured_ns;

/* False: nobody has measured, and none is wanted. Measuring again raises what other load on the
 * machine kept low. */
static bool look_at_limits(bool measure, cse_machine_limits *seen)
{
    pthread_mutex_lock(&lock);
    if (measure && (limits.triad <= 0 || cse_clock_ns() - measured_ns > LEAST_PAUSE_NS)) {
        cse_machine_limits_measure(&limits);
        measured_ns = cse_clock_ns();
    }
    *seen = limits;
    pthread_mutex_unlock(&lock);
    return seen->triad > 0;
}

/* Rates of this machine say nothing of another one. */
static bool is_here(cse_store_reader *reader)
{
    char here[256] = "";
    cse_text host = { 0 };
    gethostname(here, sizeof here - 1);
    const bool same = !cse_store_reader_key(reader, "host", &host) || strcmp(host.data, here) == 0;
    cse_text_clear(&host);
    return same;
}

static void add_limit(const cse_graph *graph, const cse_group *group, bool measure, bool here,
                      cse_kernel_view *view)
{
    cse_machine_limits seen;
    cse_roofline_row row = { .work = view->work };
    view->limited = here && look_at_limits(measure, &seen);
    view->limit_missing = here ? "the rates of this machine were not measured since the server "
                                 "began; measuring takes a second of one core"
                               : "the run was on another host than this server; there, `csengine "
                                 "bench step CONFIG.yaml --roofline` measures";
    if (!view->limited)
        return;
    const int64_t set_bytes =
        group->part == CSE_PART_UPDATE ? graph->space_bytes[CSE_SPACE_STATE] : row.work.bytes;
    view->limit_missing = NULL;
    view->limit.ns = cse_roofline_limit_ns(&seen, set_bytes, &row);
    view->limit.by_operations = row.compute_bound;
    view->limit.peak = cse_peak_name(row.peak);
    view->limit.level = cse_memory_level_name(row.level);
    view->limit.gflop_per_second = seen.peaks[row.peak];
    view->limit.gb_per_second = cse_machine_bandwidth(&seen, row.level);
}

cse_status cse_kernel_view_read(cse_store_reader *reader, int64_t kernel, bool measure,
                                cse_kernel_view *view)
{
    cse_graph *graph = NULL;
    cse_status status = CSE_OK;
    *view = (cse_kernel_view){ .limited = false };
    read_artefact(reader, kernel, view, &graph);
    if (graph == NULL)
        status = read_graph(reader, &graph);
    if (status == CSE_OK && (kernel < 0 || kernel >= graph->group_count))
        status = cse_fail(CSE_USAGE, "the step has the kernels 0 to %d, and not kernel %lld",
                          graph->group_count - 1, (long long)kernel);
    if (status == CSE_OK) {
        const cse_group *group = &graph->groups[kernel];
        view->part = cse_part_name(group->part);
        cse_group_work_of(graph, group, &view->work);
        add_limit(graph, group, measure, is_here(reader), view);
    }
    cse_graph_destroy(&graph);
    return status;
}

void cse_kernel_view_clear(cse_kernel_view *view)
{
    cse_text_clear(&view->source);
}
