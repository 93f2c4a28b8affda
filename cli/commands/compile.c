/* `csengine compile`: compiles the step without running it; prints its graph, types or C code. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/arguments/check_word.h"
#include "cli/runs/job.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "engine/base/text.h"
#include "engine/graph/passes/memory_plan.h"
#include "engine/graph/passes/pass.h"
#include "engine/graph/precision/graphamp.h"

/* What is printed. */
typedef struct printing {
    const char *pass; /* the graph after it, or after "all"; NULL: none */
    bool precision, json;
} printing;

static void print_precision(const printing *wanted, const cse_graph *graph)
{
    cse_text text = { 0 };
    bool training = false;
    for (int s = 0; s < graph->state_count; s++)
        training = training || (graph->states[s].trainable && graph->states[s].next != NULL);
    const char *step = training ? "training" : "evaluation";
    if (wanted->json)
        cse_precision_report_json(graph, step, &text);
    else
        cse_precision_report(graph, step, &text);
    fputs(text.data, stdout);
    cse_text_clear(&text);
}

static void print_figures(const cse_graph *graph, cse_text *out)
{
    const cse_memory_figures figures = cse_memory_plan_figures(graph);
    cse_text_add(out, "replica workspace: %lld bytes; lower bound of this order: %lld bytes\n",
                 (long long)figures.workspace_bytes, (long long)figures.lower_bound_bytes);
}

/* Prints the graph after the requested pass. */
static void print_after(void *self, const cse_pass *pass, const cse_graph *graph)
{
    const printing *printed = self;
    const char *wanted = printed->pass;
    if (printed->precision && strcmp(pass->name, "precision") == 0)
        print_precision(printed, graph);
    if (wanted == NULL || (strcmp(wanted, pass->name) != 0 && strcmp(wanted, "all") != 0))
        return;
    cse_text text = { 0 };
    if (printed->json) {
        cse_graph_to_json(graph, &text);
        cse_print("%s\n", text.data);
    } else {
        cse_graph_print(graph, &text);
        if (strcmp(pass->name, "memory_plan") == 0)
            print_figures(graph, &text);
        cse_print("# after %s\n%s\n", pass->name, text.data);
    }
    cse_text_clear(&text);
}

static cse_status check_pass(const char *name)
{
    const char *accepted[64];
    int count = 0;
    for (const cse_pass *pass = cse_passes; pass->name != NULL && count < 62; pass++)
        accepted[count++] = pass->name;
    accepted[count++] = "all";
    accepted[count] = NULL;
    return cse_check_word("compile: --print_after: there is no pass", name, accepted);
}

static cse_status print_file(const char *directory, const char *name)
{
    cse_text path = { 0 };
    cse_text_add(&path, "%s/%s", directory, name);
    FILE *file = fopen(path.data, "r");
    cse_status status = CSE_OK;
    if (file == NULL)
        status = cse_fail(CSE_NO_INPUT, "%s: cannot be opened: %s", path.data, strerror(errno));
    char buffer[8192];
    size_t size;
    while (file != NULL && (size = fread(buffer, 1, sizeof buffer, file)) > 0)
        fwrite(buffer, 1, size, stdout);
    if (file != NULL)
        fclose(file);
    cse_text_clear(&path);
    return status;
}

/* The ratio tells whether the plan wastes memory: 1 is the least that this order of work allows. */
static void print_memory(FILE *to, const cse_memory_figures *memory)
{
    const double bound = memory->lower_bound_bytes > 0 ? (double)memory->lower_bound_bytes : 1;
    fprintf(to,
            "Memory: %.1f MB of workspace a replica (%.3f of what is live at once), %.1f MB of "
            "states, %.1f MB a sum of gradients\n",
            (double)memory->workspace_bytes * 1e-6,
            memory->workspace_bytes > 0 ? (double)memory->workspace_bytes / bound : 1,
            (double)memory->state_bytes * 1e-6, (double)memory->sum_bytes * 1e-6);
}

static cse_status compile(const cse_command_line *line, cse_prepared_job *job)
{
    const char *pass = cse_option_value(line, "print_after");
    if (pass != NULL)
        CSE_TRY(check_pass(pass));
    printing wanted = { .pass = pass,
                        .precision = cse_option_is_on(line, "print_precision"),
                        .json = cse_option_is_on(line, "json") };
    cse_passes_options passes = { .after = print_after, .self = &wanted };
    if (pass != NULL || wanted.precision) /* a plan that is found was made without passes */
        job->environment.passes = &passes;
    bool print_c = cse_option_is_on(line, "print_c");
    cse_job_result result = { 0 };
    CSE_TRY(cse_job_run(&job->environment, &result));
    if (print_c)
        CSE_TRY(print_file(result.artefact_directory, "step.c"));
    if (result.artefact_directory[0] == '\0')
        return CSE_OK;
    FILE *to = print_c || pass != NULL || wanted.precision ? stderr : stdout;
    cse_print_to(to, "%s in %.3f seconds: %s\nKernels: %s\n",
                 result.compile_cached ? "Found compiled" : "Compiled", result.compile_seconds,
                 result.artefact_directory, result.kernels);
    print_memory(to, &result.memory);
    return CSE_OK;
}

static int run(const cse_command_line *line)
{
    cse_prepared_job job;
    cse_status status = cse_job_prepare(line, CSE_JOB_COMPILE, &job);
    if (status == CSE_OK)
        status = compile(line, &job);
    int exit_code = cse_report_diagnostics(status, &job.diagnostics);
    cse_job_clear(&job);
    return exit_code;
}

static const cse_option options[] = {
    CSE_JOB_OPTIONS,
    { "validate_only", NULL, "backend.validate_only", NULL },
    { "print_after", "PASS", NULL, "print the step graph after a pass, or after all" },
    { "print_precision", NULL, NULL, "print the type of every op's values and the reason for it" },
    { "json", NULL, NULL, "--print_precision, --print_after as one JSON object per step" },
    { "print_c", NULL, NULL, "print the C file of the compiled step" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "compile configs/fc_mnist.yaml --print_after=fusion", "shows the step graph after a pass" },
    { 0 },
};

const cse_command cse_command_compile = {
    .name = "compile",
    .group = CSE_GROUP_RUN,
    .summary = "compiles the step of a configuration and runs nothing",
    .arguments = "CONFIG.yaml",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .values = "print_after=@passes",
    .examples = examples,
    .computes = true,
    .run = run,
};
