/* Opening a compiled step: its plan, the library kernels and the shared object; the interpreter
 * where there is no shared object. A program runs by calling the function of each group in turn. */
#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/confinement.h"
#include "engine/base/log.h"
#include "engine/code/codegen/codegen.h"
#include "engine/code/codegen/compiler.h"
#include "engine/code/codegen/plan_file.h"
#include "engine/code/execute/poison.h"
#include "engine/code/execute/tensor_statistics.h"
#include "engine/code/kernels/kernel.h"
#include "engine/code/kernels/kernel_record.h"

enum { PATH_BYTES = 4096 + 64 };

/* Generated code declares the same struct, so the order of the members is part of its ABI. */
typedef struct step_function {
    void (*run)(const int64_t *places, const cse_frame *frame);
    void (*run_statistics)(const int64_t *places, const cse_frame *frame);
    void (*update)(const int64_t *places, const cse_frame *frame, const int64_t lines[2],
                   const cse_undo_log *undo);
    void (*propose)(const int64_t *places, const cse_frame *frame, const int64_t lines[2],
                    float *const values[]);
} step_function;

/* What a group calls. */
typedef struct call {
    const step_function *function;
    const int64_t *places;
} call;

typedef struct compiled {
    cse_executable base;
    void *object;
    /* What `object` was loaded from; open as long as it, since the loader takes a path that it has
     * seen for the object that it has. */
    int descriptor;
    cse_plan_file plan; /* its program; the graph is the executable's */
    call *calls;        /* by group */
    cse_kernel **kernels;
    int kernel_count;
} compiled;

/* Fills in the kernels of the frame, and what each kernel has of it. */
static void prepare(const compiled *self, cse_frame *frame)
{
    cse_frame_lend(frame);
    for (int space = 0; space < CSE_SPACE_COUNT; space++)
        assert((uintptr_t)frame->base[space] % 64 == 0); /* the code assumes it */
    frame->kernels = self->kernels;
    for (int k = 0; k < self->kernel_count; k++) {
        self->kernels[k]->seed = frame->seed;
        self->kernels[k]->step = frame->step;
        self->kernels[k]->first_sample = frame->first_sample;
        self->kernels[k]->team = frame->team;
    }
}

/* Counts the tracked values of a group that are read from where they are stored: results of
 * products, and gradients. */
static void count_stored(const cse_graph *graph, const cse_group *group, const cse_frame *frame)
{
    for (int n = 0; n < group->node_count; n++) {
        const cse_node *node = group->nodes[n];
        int tracked = node->tracked - 1;
        if (tracked >= 0 && graph->tracked[tracked].scratch_offset < 0)
            frame->collector->count(frame->collector, frame, tracked,
                                    frame->base[node->space] + node->offset_bytes);
    }
}

/* Whether an earlier microbatch of the step left the group's results in the workspace. A step that
 * takes statistics runs all groups. */
static bool is_done(const cse_graph *graph, int group, const cse_frame *frame)
{
    return graph->groups[group].per_step && frame->prepared && frame->collector == NULL;
}

static void run_part(compiled *self, cse_frame *frame, cse_part part)
{
    const cse_graph *graph = self->base.graph;
    prepare(self, frame);
    for (int g = 0; g < graph->group_count; g++) {
        const call *to = &self->calls[g];
        if (graph->groups[g].part != part || is_done(graph, g, frame) ||
            cse_frame_leaves_out(frame, part, g))
            continue;
        cse_frame_announce_group(frame, g);
        if (frame->collector != NULL && to->function->run_statistics != NULL)
            to->function->run_statistics(to->places, frame);
        else
            to->function->run(to->places, frame);
        if (frame->collector != NULL)
            count_stored(graph, &graph->groups[g], frame);
        cse_frame_note_group(frame, part, g);
        cse_poison_after(self->base.poison, frame, g);
    }
}

static void run_replica(cse_executable *executable, cse_frame *frame)
{
    run_part((compiled *)executable, frame, CSE_PART_REPLICA);
}

static void run_weights(cse_executable *executable, cse_frame *frame)
{
    run_part((compiled *)executable, frame, CSE_PART_WEIGHTS);
}

static void run_timed(cse_executable *executable, cse_frame *frame, cse_part part, int64_t ns[])
{
    compiled *self = (compiled *)executable;
    const cse_graph *graph = self->base.graph;
    assert(part != CSE_PART_UPDATE && frame->collector == NULL);
    prepare(self, frame);
    int64_t start_ns = cse_clock_ns();
    for (int g = 0; g < graph->group_count; g++) {
        if (graph->groups[g].part != part)
            continue;
        ns[g] = -1;
        if (is_done(graph, g, frame) || cse_frame_leaves_out(frame, part, g))
            continue;
        cse_frame_announce_group(frame, g);
        start_ns = frame->watch.before != NULL ? cse_clock_ns() : start_ns;
        self->calls[g].function->run(self->calls[g].places, frame);
        const int64_t end_ns = cse_clock_ns();
        ns[g] = end_ns - start_ns;
        cse_frame_note_group(frame, part, g);
        cse_poison_after(self->base.poison, frame, g);
        start_ns = frame->watch.call != NULL ? cse_clock_ns() : end_ns;
    }
}

static void run_update(cse_executable *executable, cse_frame *frame, int group,
                       const int64_t lines[2], const cse_undo_log *undo)
{
    const call *to = &((compiled *)executable)->calls[group];
    assert(executable->graph->groups[group].part == CSE_PART_UPDATE && lines[0] <= lines[1]);
    to->function->update(to->places, frame, lines, undo);
}

static void run_propose(cse_executable *executable, const cse_frame *frame, int group,
                        const int64_t lines[2], float *const values[])
{
    const call *to = &((compiled *)executable)->calls[group];
    assert(to->function->propose != NULL && lines[0] <= lines[1]);
    to->function->propose(to->places, frame, lines, values);
}

static void destroy(cse_executable *executable)
{
    compiled *self = (compiled *)executable;
    for (int k = 0; k < self->kernel_count; k++)
        cse_kernel_destroy(&self->kernels[k]);
    free(self->kernels);
    free(self->calls);
    cse_program_clear(&self->plan.program);
    if (self->object != NULL)
        dlclose(self->object);
    if (self->descriptor >= 0)
        close(self->descriptor);
    free(self);
}

void cse_executable_destroy(cse_executable **executable)
{
    if (executable == NULL || *executable == NULL)
        return;
    cse_graph *graph = (*executable)->owned;
    cse_poison_destroy(&(*executable)->poison);
    (*executable)->destroy(*executable);
    cse_graph_destroy(&graph);
    *executable = NULL;
}

cse_status cse_executable_read_graph(const char *directory, const char *digest, cse_graph **graph)
{
    cse_artefact artefact;
    cse_plan_file plan;
    CSE_TRY(cse_artefact_read(directory, digest, &artefact));
    cse_status status =
        cse_plan_file_read(&artefact.files[CSE_ARTEFACT_PLAN], directory, NULL, &plan);
    cse_artefact_clear(&artefact);
    CSE_TRY(status);
    *graph = plan.graph;
    plan.graph = NULL;
    cse_plan_file_clear(&plan);
    return CSE_OK;
}

static cse_status check_object(const compiled *self, const char *path)
{
    const int *abi = dlsym(self->object, "cse_step_abi"),
              *isa = dlsym(self->object, "cse_step_isa"),
              *count = dlsym(self->object, "cse_step_function_count");
    const char *fingerprint = dlsym(self->object, "cse_step_fingerprint");
    if (abi == NULL || isa == NULL || fingerprint == NULL || count == NULL)
        return cse_fail(CSE_DATA, "compiled step: %s: not a compiled step", path);
    if (*abi != CSE_STEP_ABI)
        return cse_fail(
            CSE_DATA,
            "compiled step: %s: was compiled for ABI version %d, this engine has %d; remove "
            "its directory and compile again",
            path, *abi, CSE_STEP_ABI);
    if (*isa > (int)cse_isa_of_processor())
        return cse_fail(CSE_DATA,
                        "compiled step: %s: needs a processor with %s, this one has %s; compile "
                        "again on this machine",
                        path, cse_isa_name((cse_isa)*isa), cse_isa_name(cse_isa_of_processor()));
    if (strncmp(fingerprint, self->plan.fingerprint, sizeof self->plan.fingerprint) != 0 ||
        *count != self->plan.program.function_count)
        return cse_fail(CSE_DATA,
                        "compiled step: %s: belongs to another graph than the step.plan beside "
                        "it; remove the directory and compile again",
                        path);
    return CSE_OK;
}

/* Whether a function has what the program says, which was checked against the graph. */
static bool has_entries(const step_function *function, int entries)
{
    return (function->run != NULL) == ((entries & CSE_ENTRY_RUN) != 0) &&
           (function->run_statistics != NULL) == ((entries & CSE_ENTRY_STATISTICS) != 0) &&
           (function->update != NULL) == ((entries & CSE_ENTRY_UPDATE) != 0) &&
           (function->propose != NULL) == ((entries & CSE_ENTRY_PROPOSE) != 0);
}

static cse_status find_calls(compiled *self, const char *path)
{
    const cse_program *program = &self->plan.program;
    const step_function *functions = dlsym(self->object, "cse_step_functions");
    bool fits = functions != NULL;
    for (int f = 0; fits && f < program->function_count; f++)
        fits = has_entries(&functions[f], program->functions[f].entries);
    if (!fits)
        return cse_fail(CSE_DATA, "compiled step: %s: not a compiled step", path);
    self->calls = cse_calloc((size_t)program->group_count + 1, sizeof *self->calls);
    for (int g = 0; g < program->group_count; g++)
        self->calls[g] = (call){ &functions[program->functions_of[g]],
                                 program->values + program->first_values[g] };
    return CSE_OK;
}

static cse_status make_kernels(compiled *self)
{
    const cse_graph *graph = self->base.graph;
    self->kernels = cse_calloc((size_t)graph->group_count + 1, sizeof(cse_kernel *));
    for (int g = 0; g < graph->group_count; g++) {
        if (graph->groups[g].kind != CSE_GROUP_LIBRARY)
            continue;
        CSE_TRY(cse_kernel_new(graph, &graph->groups[g], &self->kernels[self->kernel_count]));
        self->kernel_count++;
    }
    return CSE_OK;
}

/* Every process of a run must run the kernels that the artefact was compiled for, or they would
 * compute other bits. Portable bits are those of any kernel. */
static cse_status check_kernels(const compiled *self, const cse_artefact *artefact,
                                const char *directory)
{
    char expected[CSE_KERNELS_BYTES];
    cse_text made = { 0 };
    if (self->base.graph->portable)
        return CSE_OK;
    cse_codegen_kernels(artefact, expected);
    cse_kernel_record(self->base.graph, self->kernels, &made);
    cse_status status = CSE_OK;
    if (strncmp(made.data, expected, sizeof expected - 1) != 0)
        status = cse_fail(CSE_DATA,
                          "compiled step: %s: was compiled for the kernels \"%s\", this process "
                          "would run \"%s\"; compile again on this machine",
                          directory, expected, made.data);
    cse_text_clear(&made);
    return status;
}

/* From here on the process chooses by what the artefact was compiled for. */
static cse_status follow_instructions(const cse_graph *graph, const char *directory)
{
    const cse_isa isa = cse_isa_from_name(graph->isa != NULL ? graph->isa : "");
    if (isa == CSE_ISA_COUNT || graph->portable)
        return CSE_OK;
    if (isa > cse_isa_of_processor())
        return cse_fail(CSE_DATA,
                        "compiled step: %s: needs a processor with %s, this one has %s; compile "
                        "again on this machine",
                        directory, cse_isa_name(isa), cse_isa_name(cse_isa_of_processor()));
    cse_isa_limit(isa);
    return CSE_OK;
}

/* The name of the verified bytes for dlopen. A debugger reads it, too: by the process's number it
 * finds this descriptor, where "self" would be one of its own. A confined process may see another
 * process under its number. */
static void name_object(const compiled *self, char path[PATH_BYTES])
{
    if (cse_confinement_view() != NULL)
        snprintf(path, PATH_BYTES, "/proc/self/fd/%d", self->descriptor);
    else
        snprintf(path, PATH_BYTES, "/proc/%d/fd/%d", (int)getpid(), self->descriptor);
}

/* The bytes that were verified are loaded from memory: the file beside the plan may change, or be
 * cut off, without this process noticing. */
static cse_status load(compiled *self, const cse_artefact *artefact, const char *directory)
{
    char path[PATH_BYTES];
    CSE_TRY(cse_artefact_object_new(artefact, &self->descriptor));
    name_object(self, path);
    self->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    snprintf(path, sizeof path, "%s/step.so", directory);
    if (self->object == NULL)
        return cse_fail(CSE_DATA, "compiled step: %s: cannot be loaded: %s", path, dlerror());
    CSE_TRY(check_object(self, path));
    CSE_TRY(find_calls(self, path));
    CSE_TRY(make_kernels(self));
    return check_kernels(self, artefact, directory);
}

/* Takes over the plan's program. */
static cse_status open_object(cse_plan_file *plan, const cse_artefact *artefact,
                              const char *directory, cse_executable **executable)
{
    compiled *self = cse_calloc(1, sizeof *self);
    self->base = (cse_executable){ .graph = plan->graph,
                                   .kind = "compiled",
                                   .poison = cse_poison_new(plan->graph),
                                   .replica = run_replica,
                                   .weights = run_weights,
                                   .timed = run_timed,
                                   .update = run_update,
                                   .propose = run_propose,
                                   .destroy = destroy };
    self->descriptor = -1;
    self->plan = *plan;
    plan->program = (cse_program){ 0 };
    *executable = &self->base;
    return load(self, artefact, directory);
}

static cse_status open_artefact(const cse_artefact *artefact, const char *directory,
                                cse_executable **executable)
{
    cse_plan_file plan;
    CSE_TRY(cse_plan_file_read(&artefact->files[CSE_ARTEFACT_PLAN], directory, NULL, &plan));
    cse_status status = follow_instructions(plan.graph, directory);
    if (status == CSE_OK && plan.compiled != artefact->compiled) {
        status = cse_fail(CSE_DATA,
                          "compiled step: %s: step.plan and step.so are not of one step; remove "
                          "the directory and compile again",
                          directory);
    } else if (status == CSE_OK && plan.compiled) {
        status = open_object(&plan, artefact, directory, executable);
    } else if (status == CSE_OK) {
        cse_log_line(CSE_LOG_WARNING,
                     "%s holds no compiled code (step.so): the step runs interpreted", directory);
        status = cse_executable_interpret(plan.graph, executable);
    }
    if (status == CSE_OK) {
        (*executable)->owned = plan.graph;
        plan.graph = NULL;
    } else {
        cse_executable_destroy(executable);
    }
    cse_plan_file_clear(&plan);
    return status;
}

cse_status cse_executable_open_verified(const char *directory, const char *digest,
                                        cse_executable **executable)
{
    cse_artefact artefact;
    *executable = NULL;
    CSE_TRY(cse_artefact_read(directory, digest, &artefact));
    cse_status status = open_artefact(&artefact, directory, executable);
    cse_artefact_clear(&artefact);
    return status;
}

cse_status cse_executable_open(const char *directory, cse_executable **executable)
{
    return cse_executable_open_verified(directory, NULL, executable);
}
