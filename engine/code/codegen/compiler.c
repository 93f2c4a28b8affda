/* Finding and running the compiler. Its output becomes the message when it fails. A failure costs a
 * second try: of a compiler's processes the kernel may kill one (short memory), or an operator.
 *
 * Flags: -O3 and the vector extensions by name, because gcc 12 tunes "native" for the wrong
 * processor; sums are reassociated only where the file says so (omp simd); -ffp-contract=off gives
 * elementwise code the same bits on every instruction set. Never -ffast-math: gcc 12 would link
 * code that sets the process's floating-point mode. */
#include "engine/code/codegen/compiler.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/directory.h"
#include "engine/base/log.h"
#include "engine/base/memory_limit.h"
#include "engine/base/piped_program.h"
#include "engine/base/storage.h"

extern char **environ;

/* Beyond MOST_EXIT_CODE it is of a signal. */
enum {
    MOST_ARGUMENTS = 48,
    MOST_OUTPUT_BYTES = 3000,
    MOST_EXIT_CODE = 128,
    TRIED_BYTES = 256 << 10, /* of a library of one function, with the assembler's text */
    TRIED_TIMES = 4,         /* the size of the source */
};

void cse_compiler_flags(cse_isa isa, cse_text *flags)
{
    static const char *const vectors[] = {
        "",
        " -mavx2 -mfma -mbmi2",
        " -mavx2 -mfma -mbmi2 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx512cd"
        " -mprefer-vector-width=512",
    };
    const int level = isa < CSE_ISA_AVX512 ? (int)isa : CSE_ISA_AVX512;
    cse_text_add(flags,
                 "-std=gnu11 -O3 -shared -fPIC -fvisibility=hidden -fopenmp-simd"
                 " -fno-math-errno -fno-trapping-math -ffp-contract=off -fno-strict-aliasing"
                 " -Wno-unknown-pragmas%s -DCSE_STEP_ISA=%d",
                 vectors[level], level);
}

/* One that is killed while it answers is asked again. Fails where none could be started now. */
static cse_status ask(cse_compiler *compiler, bool *answers)
{
    char *const arguments[] = { compiler->path, "--version", NULL };
    int exit_code = MOST_EXIT_CODE + 1;
    cse_status status = CSE_OK;
    for (int tries = 0; tries < 2 && status == CSE_OK && exit_code > MOST_EXIT_CODE; tries++) {
        cse_text_clear(&compiler->version);
        status =
            cse_piped_program_run(arguments, MOST_OUTPUT_BYTES, &compiler->version, &exit_code);
    }
    *answers = status == CSE_OK && exit_code == 0;
    return status == CSE_TEMPORARY ? status : CSE_OK;
}

cse_status cse_compiler_find(cse_compiler *compiler, bool *present)
{
    static const char *const names[] = { "cc", "gcc", "clang" };
    const char *wanted = getenv("CSE_CC");
    bool answers;
    *compiler = (cse_compiler){ .version = { 0 } };
    *present = true;
    if (wanted != NULL && wanted[0] != '\0') {
        snprintf(compiler->path, sizeof compiler->path, "%s", wanted);
        CSE_TRY(ask(compiler, &answers));
        if (answers)
            return CSE_OK;
        cse_text_clear(&compiler->version);
        return cse_fail(CSE_CONFIG,
                        "CSE_CC: '%s --version' does not run; accepted: the path of a C compiler, "
                        "or unset it to search for cc, gcc and clang",
                        wanted);
    }
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        snprintf(compiler->path, sizeof compiler->path, "%s", names[n]);
        CSE_TRY(ask(compiler, &answers));
        if (answers)
            return CSE_OK;
    }
    cse_text_clear(&compiler->version);
    *present = false;
    return CSE_OK;
}

/* ---- compiling ---- */

/* The environment with a directory of temporary files that goes with the compilation, whatever
 * becomes of the compiler, and with messages in the language that was_killed knows. */
static char **environment_in(const char *directory)
{
    static const char *const replaced[] = { "TMPDIR=", "LC_ALL=", "LC_MESSAGES=", "LANGUAGE=" };
    size_t count = 0, kept = 0;
    cse_text temporary = { 0 };
    while (environ[count] != NULL)
        count++;
    char **list = cse_calloc(count + 3, sizeof *list);
    cse_text_add(&temporary, "TMPDIR=%s", directory);
    list[kept++] = temporary.data;
    list[kept++] = (char *)(uintptr_t) "LC_MESSAGES=C";
    for (size_t i = 0; i < count; i++) {
        bool is_replaced = false;
        for (size_t r = 0; r < sizeof replaced / sizeof replaced[0]; r++)
            is_replaced = is_replaced || strncmp(environ[i], replaced[r], strlen(replaced[r])) == 0;
        if (!is_replaced)
            list[kept++] = environ[i];
    }
    return list;
}

/* Its driver by a signal, or a process of the driver's, of which gcc and clang say so. */
static bool was_killed(int exit_code, const cse_text *output)
{
    const char *said = output->data != NULL ? output->data : "";
    return exit_code > MOST_EXIT_CODE || strstr(said, "signal terminated program") != NULL ||
           strstr(said, "terminated with signal") != NULL ||
           strstr(said, "due to signal") != NULL || strstr(said, "Killed") != NULL;
}

/* What became of the compiler. */
typedef struct outcome {
    cse_status status; /* of starting it; its message is the thread's last */
    int exit_code;
    int write_error;      /* of a file in the same folder, when it had failed */
    int64_t memory_kills; /* the kernel's, meanwhile */
    cse_text output;
} outcome;

static bool has_failed(const outcome *o)
{
    return o->status != CSE_OK || o->exit_code != 0;
}

/* More than the code takes: the compiler has removed what did not fit. */
static int64_t bytes_to_try(const char *source)
{
    struct stat facts;
    return TRIED_BYTES + (stat(source, &facts) == 0 ? TRIED_TIMES * (int64_t)facts.st_size : 0);
}

/* Where the storage works now it may still have failed the compiler for a moment. */
static int write_error_of(const outcome *o, const char *directory, const char *source)
{
    static const int errors[] = { ENOSPC, EDQUOT, EIO, EFBIG };
    const int error = cse_storage_try(directory, bytes_to_try(source));
    if (cse_storage_is_at_fault(error))
        return error;
    for (size_t i = 0; o->output.size > 0 && i < sizeof errors / sizeof errors[0]; i++)
        if (strstr(o->output.data, strerrordesc_np(errors[i])) != NULL)
            return errors[i];
    return 0;
}

static void run_in(char *const arguments[], const char *directory, const char *source, outcome *o)
{
    const int64_t kills = cse_memory_kills_look();
    *o = (outcome){ .status = CSE_OK };
    if (mkdir(directory, 0700) != 0 && errno != EEXIST) {
        o->write_error = errno;
        o->status = cse_storage_fail(directory, errno);
        return;
    }
    char **list = environment_in(directory);
    o->status =
        cse_piped_program_run_in(arguments, list, MOST_OUTPUT_BYTES, &o->output, &o->exit_code);
    free(list[0]);
    free(list);
    if (has_failed(o))
        o->write_error = write_error_of(o, directory, source);
    o->memory_kills = cse_memory_kills_look() - kills;
    cse_remove_tree(directory);
}

/* A program that lacks memory or processes says so by one of these. */
static bool lacks_resources(const outcome *o)
{
    const char *said = o->output.data != NULL ? o->output.data : "";
    return strstr(said, strerrordesc_np(EAGAIN)) != NULL ||
           strstr(said, strerrordesc_np(ENOMEM)) != NULL || strstr(said, "out of memory") != NULL ||
           strstr(said, "memory exhausted") != NULL;
}

static cse_status fail_for_memory(const char *path)
{
    const cse_memory_limit limit = cse_memory_limit_look();
    return cse_fail_at(&(cse_error){ .status = CSE_TEMPORARY,
                                     .hint = "give it more memory, or end other programs" },
                       "compiler %s: the kernel killed a process of it for lack of memory, twice: "
                       "%s %lld MiB",
                       path, limit.file[0] != '\0' ? limit.file : "this machine has",
                       (long long)(limit.bytes >> 20));
}

static cse_status fail(const cse_compiler *compiler, const char *source, const outcome *o)
{
    char said[MOST_OUTPUT_BYTES];
    const char *path = compiler->path;
    cse_text_one_line(o->output.size > 0 ? o->output.data : "it printed nothing", said,
                      sizeof said);
    if (o->status != CSE_OK)
        return o->status;
    if (o->write_error != 0)
        return cse_storage_fail(source, o->write_error);
    if (was_killed(o->exit_code, &o->output) && o->memory_kills > 0)
        return fail_for_memory(path);
    if (was_killed(o->exit_code, &o->output))
        return cse_fail_at(&(cse_error){ .status = CSE_TEMPORARY,
                                         .hint = "the kernel kills processes where memory is "
                                                 "short" },
                           "compiler %s: a process of it was killed, twice, for %s: %s", path,
                           source, said);
    if (lacks_resources(o))
        return cse_fail_at(&(cse_error){ .status = CSE_TEMPORARY,
                                         .hint = "memory or processes are short; see `csengine "
                                                 "doctor`" },
                           "compiler %s: %s", path, said);
    return cse_fail(CSE_FAILED, "compiler %s: exit code %d for %s: %s", path, o->exit_code, source,
                    o->output.size > 0 ? o->output.data : said);
}

/* The words of its command line; the flags and files are borrowed. */
static void arrange(const cse_compiler *compiler, char *flags, char *const files[2],
                    char *arguments[MOST_ARGUMENTS])
{
    int count = 0;
    arguments[count++] = (char *)(uintptr_t)compiler->path;
    for (char *flag; (flag = strsep(&flags, " ")) != NULL && count < MOST_ARGUMENTS - 5;)
        if (flag[0] != '\0')
            arguments[count++] = flag;
    arguments[count++] = (char *)(uintptr_t) "-o";
    arguments[count++] = files[0];
    arguments[count++] = files[1];
    arguments[count] = NULL;
}

cse_status cse_compiler_run(const cse_compiler *compiler, cse_isa isa, const char *directory)
{
    char *arguments[MOST_ARGUMENTS];
    cse_text flags = { 0 }, source = { 0 }, object = { 0 }, temporary = { 0 };
    outcome o;
    cse_compiler_flags(isa, &flags);
    cse_text_add(&source, "%s/step.c", directory);
    cse_text_add(&object, "%s/step.so", directory);
    cse_text_add(&temporary, "%s/tmp", directory);
    arrange(compiler, flags.data, (char *const[]){ object.data, source.data }, arguments);
    run_in(arguments, temporary.data, source.data, &o);
    if (has_failed(&o) && o.status == CSE_OK && o.write_error == 0) {
        cse_log_line(CSE_LOG_WARNING, "compiler %s: exit code %d; it is run again: %s",
                     compiler->path, o.exit_code, o.output.size > 0 ? o.output.data : "");
        cse_text_clear(&o.output);
        run_in(arguments, temporary.data, source.data, &o);
    }
    const cse_status status = has_failed(&o) ? fail(compiler, source.data, &o) : CSE_OK;
    cse_text *const texts[] = { &flags, &o.output, &source, &object, &temporary };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        cse_text_clear(texts[i]);
    return status;
}
