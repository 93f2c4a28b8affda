/* Opening a compiled step: its graph, the library kernels and the shared object; the interpreter
 * where there is no shared object. */
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/codegen/codegen.h"
#include "engine/codegen/compiler.h"
#include "engine/execute/execute.h"
#include "engine/kernels/kernel.h"
#include "engine/kernels/kernel_record.h"

enum { PATH_BYTES = 4096 + 64 };

typedef void part_function(const cse_frame *frame);
typedef void update_function(const cse_frame *frame, int group, const int64_t lines[2],
                             const cse_undo_log *undo);

typedef void propose_function(const cse_frame *frame, int group, const int64_t lines[2],
                              float *const values[]);

typedef struct compiled {
    cse_executable base;
    void *object;
    part_function *replica, *weights;
    part_function *const *groups; /* by number; NULL for those of UPDATE */
    update_function *update;
    propose_function *propose; /* NULL for a graph without tracked tensors */
    cse_kernel **kernels;
    int kernel_count;
} compiled;

/* Fills in the kernels of the frame, and the seed, step and first sample of each kernel. */
static void prepare(const compiled *self, cse_frame *frame)
{
    for (int space = 0; space < CSE_SPACE_COUNT; space++)
        assert((uintptr_t)frame->base[space] % 64 == 0); /* the code assumes it */
    frame->kernels = self->kernels;
    for (int k = 0; k < self->kernel_count; k++) {
        self->kernels[k]->seed = frame->seed;
        self->kernels[k]->step = frame->step;
        self->kernels[k]->first_sample = frame->first_sample;
    }
}

static void run_replica(cse_executable *executable, cse_frame *frame)
{
    compiled *self = (compiled *)executable;
    prepare(self, frame);
    self->replica(frame);
}

static void run_weights(cse_executable *executable, cse_frame *frame)
{
    compiled *self = (compiled *)executable;
    prepare(self, frame);
    self->weights(frame);
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
        if (graph->groups[g].per_step && frame->prepared)
            continue;
        self->groups[g](frame);
        const int64_t end_ns = cse_clock_ns();
        ns[g] = end_ns - start_ns;
        start_ns = end_ns;
    }
}

static void run_update(cse_executable *executable, cse_frame *frame, int group,
                       const int64_t lines[2], const cse_undo_log *undo)
{
    assert(executable->graph->groups[group].part == CSE_PART_UPDATE && lines[0] <= lines[1]);
    ((compiled *)executable)->update(frame, group, lines, undo);
}

static void run_propose(cse_executable *executable, const cse_frame *frame, int group,
                        const int64_t lines[2], float *const values[])
{
    assert(executable->graph->tracked_count > 0 && lines[0] <= lines[1]);
    ((compiled *)executable)->propose(frame, group, lines, values);
}

static void destroy(cse_executable *executable)
{
    compiled *self = (compiled *)executable;
    for (int k = 0; k < self->kernel_count; k++)
        cse_kernel_destroy(&self->kernels[k]);
    free(self->kernels);
    if (self->object != NULL)
        dlclose(self->object);
    free(self);
}

void cse_executable_destroy(cse_executable **executable)
{
    if (executable == NULL || *executable == NULL)
        return;
    cse_graph *graph = (*executable)->owned;
    (*executable)->destroy(*executable);
    cse_graph_destroy(&graph);
    *executable = NULL;
}

cse_status cse_executable_read_graph(const char *directory, cse_graph **graph)
{
    char path[PATH_BYTES], block[65536];
    snprintf(path, sizeof path, "%s/graph.json", directory);
    FILE *file = fopen(path, "rbe");
    if (file == NULL)
        return cse_fail(CSE_NO_INPUT, "compiled step: %s: %s", path, strerror(errno));
    cse_text text = { 0 };
    size_t size;
    while ((size = fread(block, 1, sizeof block, file)) > 0)
        cse_text_add_bytes(&text, block, size);
    bool failed = ferror(file) != 0;
    fclose(file);
    cse_status status;
    if (failed)
        status = cse_fail(CSE_IO, "compiled step: %s: cannot be read", path);
    else
        status = cse_graph_from_json(text.data ? text.data : "", text.size, graph);
    cse_text_clear(&text);
    return status == CSE_OK ? status : cse_fail_within(status, "%s: ", path);
}

/* dlsym returns a data pointer; POSIX allows to convert it to a function pointer. */
static void find_function(void *object, const char *name, void *function)
{
    void *symbol = dlsym(object, name);
    memcpy(function, &symbol, sizeof symbol);
}

static cse_status check_object(const compiled *self, const char *path)
{
    const int *abi = dlsym(self->object, "cse_step_abi"),
              *isa = dlsym(self->object, "cse_step_isa");
    const char *fingerprint = dlsym(self->object, "cse_step_fingerprint");
    char expected[33];
    if (abi == NULL || isa == NULL || fingerprint == NULL || !self->replica || !self->weights ||
        !self->update || !self->groups || (self->base.graph->tracked_count > 0 && !self->propose))
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
    cse_graph_fingerprint(self->base.graph, expected);
    if (strncmp(fingerprint, expected, sizeof expected) != 0)
        return cse_fail(CSE_DATA,
                        "compiled step: %s: belongs to another graph than the graph.json beside "
                        "it; remove the directory and compile again",
                        path);
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
static cse_status check_kernels(const compiled *self, const char *directory)
{
    char expected[CSE_KERNELS_BYTES];
    cse_text made = { 0 };
    if (self->base.graph->portable)
        return CSE_OK;
    CSE_TRY(cse_codegen_read_kernels(directory, expected, sizeof expected));
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

static cse_status load(compiled *self, const char *directory, const char *path)
{
    self->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (self->object == NULL)
        return cse_fail(CSE_DATA, "compiled step: %s", dlerror());
    find_function(self->object, "cse_step_replica", &self->replica);
    find_function(self->object, "cse_step_weights", &self->weights);
    find_function(self->object, "cse_step_update", &self->update);
    self->groups = dlsym(self->object, "cse_step_groups");
    find_function(self->object, "cse_step_propose", &self->propose);
    CSE_TRY(check_object(self, path));
    CSE_TRY(make_kernels(self));
    return check_kernels(self, directory);
}

static cse_status open_object(const cse_graph *graph, const char *directory, const char *path,
                              cse_executable **executable)
{
    compiled *self = cse_calloc(1, sizeof *self);
    self->base = (cse_executable){ .graph = graph,
                                   .kind = "compiled",
                                   .replica = run_replica,
                                   .weights = run_weights,
                                   .timed = run_timed,
                                   .update = run_update,
                                   .propose = run_propose,
                                   .destroy = destroy };
    *executable = &self->base;
    return load(self, directory, path);
}

cse_status cse_executable_open(const char *directory, cse_executable **executable)
{
    char path[PATH_BYTES];
    struct stat info;
    cse_graph *graph = NULL;
    *executable = NULL;
    cse_status status = cse_executable_read_graph(directory, &graph);
    snprintf(path, sizeof path, "%s/step.so", directory);
    if (status == CSE_OK)
        status = follow_instructions(graph, directory);
    if (status == CSE_OK && stat(path, &info) == 0) {
        status = open_object(graph, directory, path, executable);
    } else if (status == CSE_OK) {
        cse_log_line(CSE_LOG_WARNING,
                     "%s holds no compiled code (step.so): the step runs interpreted", directory);
        status = cse_executable_interpret(graph, executable);
    }
    if (status != CSE_OK) {
        cse_executable_destroy(executable);
        cse_graph_destroy(&graph);
        return status;
    }
    (*executable)->owned = graph;
    return CSE_OK;
}
