/* The compile cache: compile_dir/<key>/ holds step.plan, kernels.txt, step.c and step.so, and the
 * manifest that vouches for them (artefact.h).
 *
 * The key is a hash of everything that decides their bytes: the traced graph, what the passes
 * are told, the library's version and build, what kernels are chosen by, and the compiler with its
 * version, flags and instruction set. An entry is written to a temporary directory beside its final
 * place, made durable and renamed when it is complete, so that a reader never finds an incomplete
 * one. An entry that does not match its manifest, or that others could change, is told and replaced
 * by a new one in one move. Processes that place entries of one compile_dir take turns. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/build_identity.h"
#include "engine/base/clock.h"
#include "engine/base/directory.h"
#include "engine/base/file_status.h"
#include "engine/base/log.h"
#include "engine/base/storage.h"
#include "engine/code/codegen/artefact.h"
#include "engine/code/codegen/codegen.h"
#include "engine/code/codegen/compiler.h"
#include "engine/code/codegen/plan_file.h"
#include "engine/code/kernels/kernel_record.h"
#include "engine/code/kernels/product_order.h"
#include "engine/graph/outside_ops.h"
#include "engine/graph/trace/trace.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_VERSION "0"
#endif

enum { KEY_BYTES = 16, DIRECTORY_BYTES = 4096 + 64, PATH_BYTES = DIRECTORY_BYTES + 64 };
enum { TURN_ATTEMPTS = 1000, TURN_PAUSE_US = 10000 };
#define TEMPORARY ".new-" /* how the names of temporary directories begin */

struct cse_compilation {
    cse_compiler compiler;
    bool compiler_present;
    cse_isa isa;
    cse_traced_facts traced;
    int64_t start_ns;
    const char *compile_dir; /* borrowed */
    char directory[4096];
    cse_artefact artefact; /* what the directory holds, when that is whole */
    bool looked, whole;    /* the directory was read; it holds a whole entry */
    bool found;            /* its plan is the graph's */
};

static void add_part(crypto_generichash_state *state, const char *data, size_t size)
{
    uint64_t length = size;
    crypto_generichash_update(state, (const unsigned char *)&length, sizeof length);
    crypto_generichash_update(state, (const unsigned char *)data, size);
}

static void add_compiler(const cse_compilation *c, crypto_generichash_state *state)
{
    cse_text flags = { 0 };
    if (!c->compiler_present)
        return;
    cse_compiler_flags(c->isa, &flags);
    add_part(state, flags.data, flags.size);
    add_part(state, c->compiler.path, strlen(c->compiler.path));
    add_part(state, c->compiler.version.data ? c->compiler.version.data : "",
             c->compiler.version.size);
    cse_text_clear(&flags);
}

/* What kernels are chosen by: the instruction set, the order of sums of a product, and what the
 * environment wishes. */
static cse_status add_choices(const cse_graph *graph, crypto_generichash_state *state)
{
    cse_text choices = { 0 };
    cse_text_add(&choices, "%s %s ", cse_isa_name(cse_isa_of_host()),
                 cse_product_order_name(cse_product_order_choose(graph->portable)));
    cse_status status = cse_kernel_record_choices(&choices);
    add_part(state, choices.data, choices.size);
    cse_text_clear(&choices);
    return status;
}

static cse_status make_key(const cse_compilation *c, const cse_graph *graph,
                           const cse_passes_options *options, char key[KEY_BYTES * 2 + 1])
{
    crypto_generichash_state state;
    unsigned char hash[KEY_BYTES], build[CSE_BUILD_IDENTITY_BYTES];
    cse_text packed = { 0 }, passes = { 0 };
    cse_graph_pack(graph, c->traced.calls, &packed);
    cse_passes_describe(graph, options, &passes);
    crypto_generichash_init(&state, NULL, 0, sizeof hash);
    add_part(&state, packed.data, packed.size);
    add_part(&state, passes.data, passes.size);
    add_part(&state, PACKAGE_VERSION, strlen(PACKAGE_VERSION));
    add_part(&state, (const char *)build, cse_build_identity(build));
    cse_status status = add_choices(graph, &state);
    add_compiler(c, &state);
    crypto_generichash_final(&state, hash, sizeof hash);
    sodium_bin2hex(key, KEY_BYTES * 2 + 1, hash, sizeof hash);
    cse_text_clear(&packed);
    cse_text_clear(&passes);
    return status;
}

static cse_status write_file(const char *directory, const char *name, const cse_text *text)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    size_t done = 0;
    while (descriptor >= 0 && done < text->size) {
        ssize_t written = write(descriptor, text->data + done, text->size - done);
        if (written < 0 && errno != EINTR)
            break;
        done += written > 0 ? (size_t)written : 0;
    }
    int error = descriptor < 0 || done < text->size ? errno : 0;
    if (descriptor >= 0 && close(descriptor) != 0 && error == 0)
        error = errno;
    if (error != 0)
        return cse_storage_fail(path, error);
    return CSE_OK;
}

static cse_status write_plan(const cse_compilation *c, const cse_graph *graph,
                             const cse_program *program, const char *directory)
{
    cse_text text = { 0 };
    cse_plan_file_write(graph, program, c->compiler_present, &c->traced, &text);
    cse_status status = write_file(directory, "step.plan", &text);
    cse_text_clear(&text);
    return status;
}

static cse_status write_kernels(const cse_compilation *c, const cse_graph *graph,
                                const char *directory)
{
    cse_text record = { 0 };
    cse_status status = CSE_OK;
    if (c->compiler_present)
        status = cse_kernel_record_new(graph, &record);
    else
        cse_text_add(&record, "interpreted");
    cse_text_add(&record, "\n");
    if (status == CSE_OK)
        status = write_file(directory, "kernels.txt", &record);
    cse_text_clear(&record);
    return status;
}

static cse_status fill_entry(const cse_compilation *c, const cse_graph *graph,
                             const char *directory)
{
    cse_text text = { 0 };
    cse_program program = { 0 };
    cse_status status = cse_codegen_print(graph, &program, &text);
    if (status == CSE_OK)
        status = write_file(directory, "step.c", &text);
    if (status == CSE_OK)
        status = write_kernels(c, graph, directory);
    if (status == CSE_OK && c->compiler_present)
        status = cse_compiler_run(&c->compiler, c->isa, directory);
    if (status == CSE_OK)
        status = write_plan(c, graph, &program, directory);
    if (status == CSE_OK)
        status = cse_artefact_seal(directory, strrchr(c->directory, '/') + 1);
    cse_text_clear(&text);
    cse_program_clear(&program);
    return status;
}

/* ---- what the directory holds ---- */

static cse_status read_entry(cse_compilation *c)
{
    cse_artefact_clear(&c->artefact);
    cse_status status = cse_artefact_read(c->directory, NULL, &c->artefact);
    c->whole = status == CSE_OK && c->artefact.compiled == c->compiler_present;
    return status;
}

/* Whether the directory holds a whole entry. It is read once; one that does not match is told. */
static bool look(cse_compilation *c)
{
    if (c->looked)
        return c->whole;
    c->looked = true;
    cse_status status = read_entry(c);
    if (status != CSE_OK && status != CSE_NO_INPUT)
        cse_log_line(CSE_LOG_WARNING, "%s", cse_error_message());
    return c->whole;
}

/* ---- placing an entry ---- */

/* Waits for its turn, but not for ever: a process that was stopped may have it, and not every file
 * system has locks. Without turns, two processes that replace one damaged entry might move each
 * other's away. */
static int take_turn(const char *compile_dir)
{
    int descriptor = open(compile_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < TURN_ATTEMPTS && flock(descriptor, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK)
            break;
        usleep(TURN_PAUSE_US);
    }
    return descriptor;
}

/* Gives the new entry its name. What had it is called `temporary` afterwards. */
static cse_status exchange(const cse_compilation *c, const char *temporary)
{
    char old[DIRECTORY_BYTES + 8];
    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, c->directory, RENAME_EXCHANGE) == 0)
        return CSE_OK;
    /* Not every file system can exchange two names. */
    snprintf(old, sizeof old, "%s.old", temporary);
    bool placed = rename(c->directory, old) == 0 && rename(temporary, c->directory) == 0;
    int error = errno;
    cse_remove_tree(old);
    if (placed)
        return CSE_OK;
    return cse_fail(cse_status_of_writing(error),
                    "%s: cannot be replaced: %s; remove it, or set another compile_dir",
                    c->directory, strerror(error));
}

/* Another process may have placed the same entry meanwhile, which is as good. */
static cse_status place(cse_compilation *c, const char *temporary)
{
    int turn = take_turn(c->compile_dir);
    cse_status status = CSE_OK;
    if (rename(temporary, c->directory) != 0) {
        read_entry(c);
        if (!c->whole)
            status = exchange(c, temporary);
    }
    fsync(turn); /* not possible everywhere; a name that is lost is made again */
    close(turn);
    return status;
}

/* A temporary directory is locked by the process that fills it; one without its process stays. */
static int lock_directory(const char *path)
{
    const int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

/* Removes what processes that were killed have left. */
static void remove_abandoned(const char *compile_dir)
{
    char path[DIRECTORY_BYTES + 256];
    DIR *entries = opendir(compile_dir);
    for (struct dirent *e; entries != NULL && (e = readdir(entries)) != NULL;) {
        if (strncmp(e->d_name, TEMPORARY, strlen(TEMPORARY)) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", compile_dir, e->d_name);
        const int lock = lock_directory(path);
        if (lock < 0)
            continue;
        cse_remove_tree(path);
        close(lock);
    }
    if (entries != NULL)
        closedir(entries);
}

void cse_compilation_sweep(const char *compile_dir)
{
    const int turn = take_turn(compile_dir);
    remove_abandoned(compile_dir);
    if (turn >= 0)
        close(turn);
}

/* In its turn, so that no other process takes the new directory for one that was left. */
static cse_status make_temporary(const char *compile_dir, char temporary[DIRECTORY_BYTES],
                                 int *lock)
{
    const int turn = take_turn(compile_dir);
    remove_abandoned(compile_dir);
    snprintf(temporary, DIRECTORY_BYTES, "%s/" TEMPORARY "XXXXXX", compile_dir);
    const bool made = mkdtemp(temporary) != NULL;
    const int error = errno;
    *lock = made ? lock_directory(temporary) : -1;
    if (turn >= 0)
        close(turn);
    if (made)
        return CSE_OK;
    return cse_fail(cse_status_of_writing(error), "compile_dir: %s: cannot be written: %s",
                    compile_dir, strerror(error));
}

/* Writes the entry to a temporary directory, gives it its name and reads it. */
static cse_status make_entry(cse_compilation *c, const cse_graph *graph)
{
    char temporary[DIRECTORY_BYTES];
    int lock = -1;
    CSE_TRY(cse_make_directories("compile_dir", c->compile_dir));
    CSE_TRY(make_temporary(c->compile_dir, temporary, &lock));
    cse_status status = fill_entry(c, graph, temporary);
    if (status == CSE_OK)
        status = place(c, temporary);
    cse_remove_tree(temporary);
    if (lock >= 0)
        close(lock);
    return status == CSE_OK ? read_entry(c) : status;
}

/* ---- the steps of a compilation ---- */

/* Generated code sums a row in as many lanes as a vector has, so that portable bits want one width:
 * that of AVX2, which every machine of interest has. */
static cse_isa isa_of(const cse_graph *graph)
{
    return graph->portable ? CSE_ISA_AVX2 : cse_isa_of_host();
}

static cse_status check_instructions(const cse_graph *graph)
{
    CSE_TRY(cse_isa_check());
    if (!graph->portable || cse_isa_runs(CSE_ISA_AVX2))
        return CSE_OK;
    return cse_fail(CSE_UNAVAILABLE,
                    "deterministic: portable needs a processor with AVX2, FMA and F16C; this one "
                    "may use %s only; accepted here: machine",
                    cse_isa_name(cse_isa_of_host()));
}

cse_status cse_compilation_new(const cse_graph *graph, const cse_passes_options *options,
                               const char *compile_dir, cse_compilation **compilation)
{
    char key[KEY_BYTES * 2 + 1];
    *compilation = NULL;
    if (sodium_init() < 0)
        return cse_fail(CSE_INTERNAL, "libsodium cannot be initialized");
    cse_compilation *c = cse_calloc(1, sizeof *c);
    *c = (cse_compilation){ .isa = isa_of(graph),
                            .start_ns = cse_clock_ns(),
                            .compile_dir = compile_dir };
    *compilation = c;
    cse_status status = check_instructions(graph);
    if (status == CSE_OK)
        status = cse_compiler_find(&c->compiler, &c->compiler_present);
    if (status == CSE_OK) {
        c->traced.calls = cse_calls_new(graph);
        status = make_key(c, graph, options, key);
    }
    if (status == CSE_OK) {
        size_t needed =
            (size_t)snprintf(c->directory, sizeof c->directory, "%s/%s", compile_dir, key);
        if (needed >= sizeof c->directory)
            status = cse_fail(CSE_CANNOT_CREATE, "compile_dir: the path is too long");
    }
    if (status != CSE_OK)
        cse_compilation_destroy(compilation);
    return status;
}

void cse_compilation_destroy(cse_compilation **compilation)
{
    if (*compilation == NULL)
        return;
    cse_calls_destroy(&(*compilation)->traced.calls);
    cse_artefact_clear(&(*compilation)->artefact);
    cse_text_clear(&(*compilation)->compiler.version);
    free(*compilation);
    *compilation = NULL;
}

/* Replaces the traced graph by the entry's plan. A plan that was verified and is still not one of
 * this graph is made again, like a damaged one. */
static bool take_plan(cse_compilation *c, cse_graph *graph)
{
    cse_plan_file plan;
    if (!look(c))
        return false;
    if (cse_plan_file_read(&c->artefact.files[CSE_ARTEFACT_PLAN], c->directory, c->traced.calls,
                           &plan) != CSE_OK) {
        cse_log_line(CSE_LOG_WARNING, "%s", cse_error_message());
        c->whole = false;
        return false;
    }
    c->whole = plan.compiled == c->compiler_present &&
               plan.graph->state_count == graph->state_count &&
               plan.graph->fetch_count == graph->fetch_count &&
               plan.graph->input_count == graph->input_count;
    if (c->whole) {
        cse_graph_take(graph, &plan.graph);
        memcpy(c->traced.fingerprint, plan.traced, sizeof plan.traced);
    }
    cse_plan_file_clear(&plan);
    return c->whole;
}

cse_status cse_compilation_plan(cse_compilation *c, cse_graph *graph,
                                const cse_passes_options *options)
{
    CSE_TRY(cse_trace_status(graph));
    if (options == NULL || options->after == NULL)
        c->found = take_plan(c, graph);
    if (c->found)
        return CSE_OK;
    cse_graph_fingerprint(graph, c->traced.fingerprint);
    return cse_passes_run(graph, options);
}

const char *cse_compilation_fingerprint_view(const cse_compilation *compilation)
{
    return compilation->traced.fingerprint;
}

bool cse_compilation_is_found(const cse_compilation *compilation)
{
    return compilation->found;
}

void cse_codegen_kernels(const cse_artefact *artefact, char kernels[CSE_KERNELS_BYTES])
{
    const cse_text *text = &artefact->files[CSE_ARTEFACT_KERNELS];
    const size_t length = text->size > 0 ? strcspn(text->data, "\n") : 0;
    snprintf(kernels, CSE_KERNELS_BYTES, "%.*s", (int)length, text->size > 0 ? text->data : "");
}

/* Without a compiler a step is interpreted by the workers' processes, which have no code but the
 * engine's. Composites have become ops of the engine by then. */
static cse_status check_interpretable(const cse_graph *graph)
{
    for (int n = 0; n < graph->node_count; n++) {
        const cse_op *op = graph->nodes[n]->op;
        if (cse_op_is_outside(op) && op->kind != CSE_OP_COMPOSITE)
            return cse_fail_at(
                &(cse_error){ .status = CSE_UNAVAILABLE,
                              .hint = "install gcc or clang on this machine, or set CSE_CC to the "
                                      "path of a compiler" },
                "there is no C compiler (cc, gcc, clang), and the step has the op %s, which is not "
                "the engine's own: its code must be compiled into the step",
                op->name);
    }
    return CSE_OK;
}

cse_status cse_compilation_finish(cse_compilation *c, const cse_graph *graph,
                                  cse_compile_result *result)
{
    cse_status status = CSE_OK;
    *result = (cse_compile_result){ .compiler_present = c->compiler_present };
    memcpy(result->directory, c->directory, sizeof result->directory);
    if (!c->compiler_present)
        CSE_TRY(check_interpretable(graph));
    if (!c->compiler_present)
        cse_log_line(CSE_LOG_WARNING,
                     "there is no C compiler (cc, gcc, clang): the step runs interpreted, "
                     "which is much slower; install gcc or set CSE_CC");
    result->cached = look(c);
    if (!result->cached)
        status = make_entry(c, graph);
    if (status == CSE_OK) {
        cse_codegen_kernels(&c->artefact, result->kernels);
        memcpy(result->digest, c->artefact.digest, sizeof result->digest);
    }
    result->seconds = (double)(cse_clock_ns() - c->start_ns) * 1e-9;
    return status;
}

cse_status cse_codegen_compile(const cse_graph *graph, const char *compile_dir,
                               cse_compile_result *result)
{
    cse_compilation *compilation = NULL;
    *result = (cse_compile_result){ .cached = false };
    cse_status status = cse_compilation_new(graph, NULL, compile_dir, &compilation);
    if (status == CSE_OK)
        status = cse_compilation_finish(compilation, graph, result);
    cse_compilation_destroy(&compilation);
    return status;
}
