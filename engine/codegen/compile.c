/* The compile cache: compile_dir/<key>/ holds graph.json, plan.txt, kernels.txt, step.c and
 * step.so.
 *
 * The key is a hash of everything that decides the bits: graph and plan, the generated text (which
 * includes the prelude), the library's version, what kernels are chosen by, and the compiler with
 * its version, flags and instruction set. An entry is written to a temporary directory beside its
 * final place and renamed when it is complete, so that a reader never finds an incomplete one and
 * concurrent writers of the same key do no harm. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/directory.h"
#include "engine/base/log.h"
#include "engine/codegen/codegen.h"
#include "engine/codegen/compiler.h"
#include "engine/kernels/kernel_record.h"
#include "engine/passes/memory_plan.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_VERSION "0"
#endif

enum { KEY_BYTES = 16, DIRECTORY_BYTES = 4096 + 64, PATH_BYTES = DIRECTORY_BYTES + 64 };

static const char *const entry_files[] = { "graph.json", "plan.txt", "kernels.txt", "step.c",
                                           "step.so" };

typedef struct entry {
    cse_text json, plan, source, kernels;
    cse_compiler compiler;
    bool compiler_present;
    cse_isa isa;
    char key[KEY_BYTES * 2 + 1];
} entry;

static void add_part(crypto_generichash_state *state, const char *data, size_t size)
{
    uint64_t length = size;
    crypto_generichash_update(state, (const unsigned char *)&length, sizeof length);
    crypto_generichash_update(state, (const unsigned char *)data, size);
}

static void make_key(entry *e)
{
    crypto_generichash_state state;
    unsigned char hash[KEY_BYTES];
    cse_text flags = { 0 }, choices = { 0 };
    crypto_generichash_init(&state, NULL, 0, sizeof hash);
    add_part(&state, e->json.data, e->json.size);
    add_part(&state, e->source.data, e->source.size);
    add_part(&state, PACKAGE_VERSION, strlen(PACKAGE_VERSION));
    cse_kernel_record_choices(&choices);
    add_part(&state, choices.data, choices.size);
    cse_text_clear(&choices);
    if (e->compiler_present) {
        cse_compiler_flags(e->isa, &flags);
        add_part(&state, flags.data, flags.size);
        add_part(&state, e->compiler.path, strlen(e->compiler.path));
        add_part(&state, e->compiler.version.data ? e->compiler.version.data : "",
                 e->compiler.version.size);
    }
    crypto_generichash_final(&state, hash, sizeof hash);
    sodium_bin2hex(e->key, sizeof e->key, hash, sizeof hash);
    cse_text_clear(&flags);
}

static void write_plan(const cse_graph *graph, cse_text *out)
{
    cse_memory_figures figures = cse_memory_plan_figures(graph);
    cse_graph_print(graph, out);
    cse_text_add(out, "replica workspace: %lld bytes; lower bound of this order: %lld bytes\n",
                 (long long)figures.workspace_bytes, (long long)figures.lower_bound_bytes);
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
        return cse_fail(CSE_CANNOT_CREATE, "%s: cannot be written: %s", path, strerror(error));
    return CSE_OK;
}

static void remove_entry(const char *directory)
{
    char path[PATH_BYTES];
    for (size_t n = 0; n < sizeof entry_files / sizeof entry_files[0]; n++) {
        snprintf(path, sizeof path, "%s/%s", directory, entry_files[n]);
        unlink(path);
    }
    rmdir(directory);
}

static bool has_file(const char *directory, const char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return access(path, R_OK) == 0;
}

static bool is_whole(const char *directory, bool compiler_present)
{
    return has_file(directory, "graph.json") && has_file(directory, "kernels.txt") &&
           (!compiler_present || has_file(directory, "step.so"));
}

static cse_status fill_entry(const entry *e, const char *directory)
{
    char source[PATH_BYTES], object[PATH_BYTES];
    CSE_TRY(write_file(directory, "graph.json", &e->json));
    CSE_TRY(write_file(directory, "plan.txt", &e->plan));
    CSE_TRY(write_file(directory, "kernels.txt", &e->kernels));
    CSE_TRY(write_file(directory, "step.c", &e->source));
    if (!e->compiler_present)
        return CSE_OK;
    snprintf(source, sizeof source, "%s/step.c", directory);
    snprintf(object, sizeof object, "%s/step.so", directory);
    return cse_compiler_run(&e->compiler, e->isa, source, object);
}

/* Writes the entry to a temporary directory, then renames it. */
static cse_status make_entry(const entry *e, const char *compile_dir, const char *directory)
{
    char temporary[DIRECTORY_BYTES];
    CSE_TRY(cse_make_directories("compile_dir", compile_dir));
    snprintf(temporary, sizeof temporary, "%s/.new-XXXXXX", compile_dir);
    if (mkdtemp(temporary) == NULL)
        return cse_fail(CSE_CANNOT_CREATE, "compile_dir: %s: cannot be written: %s", compile_dir,
                        strerror(errno));
    chmod(temporary, 0755);
    cse_status status = fill_entry(e, temporary);
    if (status == CSE_OK && rename(temporary, directory) != 0 &&
        !is_whole(directory, e->compiler_present)) {
        /* A damaged entry has this name: replace it. */
        remove_entry(directory);
        if (rename(temporary, directory) != 0)
            status = cse_fail(CSE_CANNOT_CREATE, "%s: cannot be created: %s", directory,
                              strerror(errno));
    }
    remove_entry(temporary);
    return status;
}

static void clear_entry(entry *e)
{
    cse_text_clear(&e->json);
    cse_text_clear(&e->plan);
    cse_text_clear(&e->source);
    cse_text_clear(&e->kernels);
    cse_text_clear(&e->compiler.version);
}

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

static cse_status write_kernels(const cse_graph *graph, entry *e)
{
    if (!e->compiler_present)
        cse_text_add(&e->kernels, "interpreted");
    else
        CSE_TRY(cse_kernel_record_new(graph, &e->kernels));
    cse_text_add(&e->kernels, "\n");
    cse_text_add(&e->plan, "kernels: %s", e->kernels.data);
    return CSE_OK;
}

cse_status cse_codegen_read_kernels(const char *directory, char *kernels, size_t size)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/kernels.txt", directory);
    FILE *file = fopen(path, "rbe");
    if (file == NULL)
        return cse_fail(CSE_NO_INPUT, "compiled step: %s: %s", path, strerror(errno));
    size_t read = fread(kernels, 1, size - 1, file);
    fclose(file);
    kernels[read] = '\0';
    kernels[strcspn(kernels, "\n")] = '\0';
    return CSE_OK;
}

cse_status cse_codegen_compile(const cse_graph *graph, const char *compile_dir,
                               cse_compile_result *result)
{
    int64_t start = cse_clock_ns();
    entry e = { .isa = isa_of(graph) };
    *result = (cse_compile_result){ .cached = false };
    if (sodium_init() < 0)
        return cse_fail(CSE_INTERNAL, "libsodium cannot be initialized");
    cse_status status = check_instructions(graph);
    if (status == CSE_OK)
        status = cse_codegen_print(graph, &e.source);
    if (status == CSE_OK)
        status = cse_compiler_find(&e.compiler, &e.compiler_present);
    if (status == CSE_OK) {
        cse_graph_to_json(graph, &e.json);
        write_plan(graph, &e.plan);
        make_key(&e);
        size_t needed = (size_t)snprintf(result->directory, sizeof result->directory, "%s/%s",
                                         compile_dir, e.key);
        if (needed >= sizeof result->directory)
            status = cse_fail(CSE_CANNOT_CREATE, "compile_dir: the path is too long");
    }
    if (status == CSE_OK) {
        result->cached = is_whole(result->directory, e.compiler_present);
        result->compiler_present = e.compiler_present;
        if (!e.compiler_present)
            cse_log_line(CSE_LOG_WARNING,
                         "there is no C compiler (cc, gcc, clang): the step runs interpreted, "
                         "which is much slower; install gcc or set CSE_CC");
        if (!result->cached)
            status = write_kernels(graph, &e);
        if (status == CSE_OK && !result->cached)
            status = make_entry(&e, compile_dir, result->directory);
    }
    clear_entry(&e);
    if (status == CSE_OK)
        status =
            cse_codegen_read_kernels(result->directory, result->kernels, sizeof result->kernels);
    result->seconds = (double)(cse_clock_ns() - start) * 1e-9;
    return status;
}
