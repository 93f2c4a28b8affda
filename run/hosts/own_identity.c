/* The bits of a step come from the workers, which are processes of csengine: a program that has
 * loaded the library leads them, and has another build than they have. */
#include "run/hosts/own_identity.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/clock.h"
#include "engine/base/piped_program.h"
#include "workers/control/process.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_VERSION "0"
#endif

enum { MOST_BYTES = 4096 };
#define PATIENCE_NS INT64_C(60000000000)

static bool is_this_program(const char *path)
{
    struct stat own, other;
    return stat("/proc/self/exe", &own) == 0 && stat(path, &other) == 0 &&
           own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

/* "BUILD INSTRUCTION_SET KERNELS", as `csengine answer VERSION identity` writes it. */
static bool read_identity(const char *text, cse_arena *arena, cse_host_identity *identity)
{
    char *rest = NULL, *copy = cse_arena_string(arena, text);
    identity->build = strtok_r(copy, " \n", &rest);
    identity->instruction_set = strtok_r(NULL, " \n", &rest);
    identity->kernels = strtok_r(NULL, " \n", &rest);
    return identity->kernels != NULL && strtok_r(NULL, " \n", &rest) == NULL;
}

static cse_status ask(char *program, cse_arena *arena, cse_host_identity *identity)
{
    char *words[] = { program, (char[]){ "answer" }, (char[]){ PACKAGE_VERSION },
                      (char[]){ "identity" }, NULL };
    const cse_text nothing = { 0 };
    const cse_piped_question question = { .words = words,
                                          .input = &nothing,
                                          .deadline_ns = cse_clock_ns() + PATIENCE_NS,
                                          .most = MOST_BYTES };
    cse_piped_answer answer = { .exit_code = 0 };
    CSE_TRY(cse_piped_program_ask(&question, &answer));
    cse_status status = CSE_OK;
    if (answer.late || answer.exit_code != 0 || answer.output.data == NULL ||
        !read_identity(answer.output.data, arena, identity))
        status = cse_fail(CSE_UNAVAILABLE,
                          "%s does not say what build it is: %s; is it of this version, %s?",
                          program, answer.errors.data != NULL ? answer.errors.data : "no answer",
                          PACKAGE_VERSION);
    cse_text_clear(&answer.output);
    cse_text_clear(&answer.errors);
    return status;
}

cse_status cse_own_identity_find(cse_arena *arena, bool portable, cse_host_identity *identity)
{
    char program[PATH_MAX];
    CSE_TRY(cse_worker_executable(NULL, program, sizeof program));
    if (is_this_program(program)) {
        cse_host_identity_new(arena, portable, identity);
        return CSE_OK;
    }
    *identity = (cse_host_identity){ .deterministic = portable ? "portable" : "true" };
    return ask(program, arena, identity);
}
