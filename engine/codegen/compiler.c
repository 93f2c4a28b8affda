/* Finding and running the compiler. Its output becomes the message when it fails. A failure costs a
 * second try: of a compiler's processes the kernel may kill one (short memory), or an operator.
 *
 * Flags: -O3 and the vector extensions by name, because gcc 12 tunes "native" for the wrong
 * processor; sums are reassociated only where the file says so (omp simd); -ffp-contract=off gives
 * elementwise code the same bits on every instruction set. Never -ffast-math: gcc 12 would link
 * code that sets the process's floating-point mode. */
#include "engine/codegen/compiler.h"

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
#include "engine/base/piped_program.h"

extern char **environ;

/* Beyond MOST_EXIT_CODE it is of a signal. */
enum { MOST_ARGUMENTS = 48, MOST_OUTPUT_BYTES = 3000, MOST_EXIT_CODE = 128 };

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

/* Runs a program and keeps the beginning of its output; -1 when it could not start. */
static int run_program(char *const arguments[], cse_text *output)
{
    int exit_code;
    return cse_piped_program_run(arguments, MOST_OUTPUT_BYTES, output, &exit_code) == CSE_OK
               ? exit_code
               : -1;
}

/* One that is killed while it answers is asked again. */
static bool answers(cse_compiler *compiler)
{
    char *const arguments[] = { compiler->path, "--version", NULL };
    int exit_code = MOST_EXIT_CODE + 1;
    for (int tries = 0; tries < 2 && exit_code > MOST_EXIT_CODE; tries++) {
        cse_text_clear(&compiler->version);
        exit_code = run_program(arguments, &compiler->version);
    }
    return exit_code == 0;
}

cse_status cse_compiler_find(cse_compiler *compiler, bool *present)
{
    static const char *const names[] = { "cc", "gcc", "clang" };
    const char *wanted = getenv("CSE_CC");
    *compiler = (cse_compiler){ .version = { 0 } };
    *present = true;
    if (wanted != NULL && wanted[0] != '\0') {
        snprintf(compiler->path, sizeof compiler->path, "%s", wanted);
        if (answers(compiler))
            return CSE_OK;
        cse_text_clear(&compiler->version);
        return cse_fail(CSE_CONFIG,
                        "CSE_CC: '%s --version' does not run; accepted: the path of a C compiler, "
                        "or unset it to search for cc, gcc and clang",
                        wanted);
    }
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        snprintf(compiler->path, sizeof compiler->path, "%s", names[n]);
        if (answers(compiler))
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

static int run_in(char *const arguments[], const char *directory, cse_text *output)
{
    int exit_code = -1;
    if (mkdir(directory, 0700) != 0 && errno != EEXIST)
        return exit_code;
    char **list = environment_in(directory);
    if (cse_piped_program_run_in(arguments, list, MOST_OUTPUT_BYTES, output, &exit_code) != CSE_OK)
        exit_code = -1;
    free(list[0]);
    free(list);
    cse_remove_tree(directory);
    return exit_code;
}

static cse_status fail(const cse_compiler *compiler, const char *source, int exit_code,
                       const cse_text *output)
{
    const char *said = output->data != NULL ? output->data : "it printed nothing";
    if (!was_killed(exit_code, output))
        return cse_fail(CSE_FAILED, "compiler %s: exit code %d for %s: %s", compiler->path,
                        exit_code, source, said);
    return cse_fail_at(&(cse_error){ .status = CSE_TEMPORARY,
                                     .hint = "the kernel kills processes where memory is short" },
                       "compiler %s: a process of it was killed, twice, for %s: %s", compiler->path,
                       source, said);
}

cse_status cse_compiler_run(const cse_compiler *compiler, cse_isa isa, const char *directory)
{
    char *arguments[MOST_ARGUMENTS];
    int count = 0, exit_code = -1;
    cse_text flags = { 0 }, output = { 0 }, source = { 0 }, object = { 0 }, temporary = { 0 };
    cse_compiler_flags(isa, &flags);
    cse_text_add(&source, "%s/step.c", directory);
    cse_text_add(&object, "%s/step.so", directory);
    cse_text_add(&temporary, "%s/tmp", directory);
    arguments[count++] = (char *)(uintptr_t)compiler->path;
    char *rest = flags.data;
    for (char *flag; (flag = strsep(&rest, " ")) != NULL && count < MOST_ARGUMENTS - 5;)
        if (flag[0] != '\0')
            arguments[count++] = flag;
    arguments[count++] = (char *)(uintptr_t) "-o";
    arguments[count++] = object.data;
    arguments[count++] = source.data;
    arguments[count] = NULL;
    for (int tries = 0; tries < 2 && exit_code != 0; tries++) {
        if (tries > 0)
            cse_log_line(CSE_LOG_WARNING, "compiler %s: exit code %d; it is run again: %s",
                         compiler->path, exit_code, output.size > 0 ? output.data : "");
        cse_text_clear(&output);
        exit_code = run_in(arguments, temporary.data, &output);
    }
    cse_status status = exit_code == 0 ? CSE_OK : fail(compiler, source.data, exit_code, &output);
    cse_text *const texts[] = { &flags, &output, &source, &object, &temporary };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        cse_text_clear(texts[i]);
    return status;
}
