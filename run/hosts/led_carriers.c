/* A job of mpirun has a part for each host, whose arguments say which host it is: no order in which
 * mpirun gives out its ranks is relied on. srun gives all tasks the same arguments, the list of
 * names and numbers. */
#include "run/hosts/led_carriers.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "workers/host_launchers/host_process.h"
#include "workers/host_launchers/words.h"

enum { KEPT_LINES = 5, LINE_BYTES = 256 };
#define MILLISECONDS INT64_C(1000000)
#define FIRST_DELAY_NS (100 * MILLISECONDS)
#define LAST_DELAY_NS (5000 * MILLISECONDS)
#define STEADY_NS (10000 * MILLISECONDS)
#define READY_NS (60000 * MILLISECONDS)
#define TURN_NS (5 * MILLISECONDS)
#define ENDING_NS (2000 * MILLISECONDS) /* until it is killed */

static const char program_name[] = "csengine-mpi-carrier";

struct cse_led_carriers {
    cse_led_carriers_options options;
    cse_arena *arena;
    char program[PATH_MAX], token[CSE_CARRIER_TOKEN_BYTES];
    cse_host_process *process; /* NULL: none */
    bool takes_part[CSE_MAX_HOSTS], ready;
    int64_t started_ns, due_ns, delay_ns;
    int64_t ends_ns; /* when it is killed; 0: it was not told to end */
    char lines[KEPT_LINES][LINE_BYTES];
    int line_count;
};
typedef struct cse_led_carriers led;

/* ---- the command ---- */

static const char *const srun_options[] = {
    "--mpi=pmix",
    "--overlap",
    "--no-kill",
    "--kill-on-bad-exit=1",
    "--mem=0",
    "--cpu-bind=none",
    "--input=0",
    "--immediate=60",
    "--ntasks-per-node=1",
    "--job-name=csengine-carrier",
    NULL,
};

static bool is_launcher(const char *launcher, const char *name)
{
    return launcher != NULL && strcmp(launcher, name) == 0;
}

static void add_srun(const led *l, cse_arena *arena, cse_words *words)
{
    cse_text list = { 0 };
    int count = 0;
    for (int h = 0; h < l->options.host_count; h++)
        if (l->takes_part[h])
            cse_text_add(&list, "%s%s", count++ > 0 ? "," : "", l->options.names[h]);
    cse_words_add(words, arena, cse_arena_printf(arena, "--nodes=%d", count));
    cse_words_add(words, arena, cse_arena_printf(arena, "--ntasks=%d", count));
    cse_words_add(words, arena, cse_arena_printf(arena, "--nodelist=%s", list.data));
    cse_words_add(words, arena, l->program);
    cse_words_add(words, arena, l->token);
    for (int h = 0; h < l->options.host_count; h++)
        if (l->takes_part[h])
            cse_words_add(words, arena, cse_arena_printf(arena, "%s=%d", l->options.names[h], h));
    cse_text_clear(&list);
}

static void add_mpirun(const led *l, cse_arena *arena, cse_words *words)
{
    const bool local = is_launcher(l->options.launcher, "local");
    bool first = true;
    for (int h = 0; h < l->options.host_count; h++) {
        if (!l->takes_part[h])
            continue;
        if (!first)
            cse_words_add(words, arena, ":");
        first = false;
        cse_words_add(words, arena, "-np");
        cse_words_add(words, arena, "1");
        if (!local) {
            cse_words_add(words, arena, "--host");
            cse_words_add(words, arena, l->options.names[h]);
        }
        cse_words_add(words, arena, l->program);
        cse_words_add(words, arena, l->token);
        cse_words_add(words, arena, cse_arena_printf(arena, "%d", h));
    }
}

/* In the form of a launcher, whose client is mpirun or srun. */
static cse_status carriers_arguments(const cse_host_launch *launch, cse_arena *arena,
                                     const char *const **arguments)
{
    const led *l = launch->self;
    const bool slurm = is_launcher(l->options.launcher, "slurm");
    cse_words words = { 0 };
    cse_words_add(&words, arena, slurm ? "srun" : "mpirun");
    if (slurm) {
        cse_words_add_all(&words, arena, srun_options);
    } else {
        cse_words_add(&words, arena, "--quiet");
        cse_words_add(&words, arena, "--bind-to");
        cse_words_add(&words, arena, "none");
        cse_words_add(&words, arena, "--oversubscribe");
    }
    CSE_TRY(cse_words_split(&words, arena, l->options.options));
    if (slurm)
        add_srun(l, arena, &words);
    else
        add_mpirun(l, arena, &words);
    *arguments = words.items;
    return CSE_OK;
}

static bool carriers_prove_end(cse_exit how)
{
    (void)how;
    return true;
}

static const cse_host_launcher carriers_launcher = {
    .name = "of the link mpi",
    .arguments = carriers_arguments,
    .proves_end = carriers_prove_end,
};

/* ---- the process ---- */

static void on_line(void *self, const char *host, bool is_error, const char *line)
{
    led *l = self;
    (void)host;
    if (!is_error && strcmp(line, "carriers are ready") == 0) {
        l->ready = true;
        l->line_count = 0;
        return;
    }
    if (*line == '\0' || strspn(line, "-") == strlen(line))
        return; /* the frames of mpirun's messages */
    if (l->ends_ns == 0)
        cse_log_line(CSE_LOG_INFO, "link mpi: %s", line);
    if (l->line_count < KEPT_LINES) /* mpirun says first what it is about */
        snprintf(l->lines[l->line_count++], LINE_BYTES, "%s", line);
}

static void back_off(led *l, int64_t now_ns)
{
    l->delay_ns = l->delay_ns == 0 ? FIRST_DELAY_NS : 2 * l->delay_ns;
    if (l->delay_ns > LAST_DELAY_NS || now_ns - l->started_ns > STEADY_NS)
        l->delay_ns = l->delay_ns > LAST_DELAY_NS ? LAST_DELAY_NS : FIRST_DELAY_NS;
    l->due_ns = now_ns + l->delay_ns;
}

static void add_lines(const led *l, cse_text *text)
{
    for (int i = 0; i < l->line_count; i++)
        cse_text_add(text, "%s%s", i == 0 ? "; it printed: " : " | ", l->lines[i]);
}

/* How it ended, with what it said. */
static const char *ended(const led *l, const char *how)
{
    cse_text why = { 0 };
    cse_text_add(&why, "%s", how);
    add_lines(l, &why);
    const char *kept = cse_arena_string(l->arena, why.data);
    cse_text_clear(&why);
    return kept;
}

static cse_status start(led *l)
{
    const char *const command[] = { l->program, NULL };
    const cse_host_launch launch = { .host = l->options.names[l->options.leader],
                                     .command = command,
                                     .on_line = on_line,
                                     .self = l };
    l->started_ns = cse_clock_ns();
    l->ready = false;
    l->ends_ns = 0;
    l->line_count = 0;
    return cse_host_process_start(&carriers_launcher, &launch, &l->process);
}

/* All steps are still there: it is tried again without end. */
static void start_again_later(led *l, const char *how)
{
    back_off(l, cse_clock_ns());
    cse_log_line(CSE_LOG_WARNING, "the carriers of the link mpi: %s; they are started again",
                 ended(l, how));
}

/* True: it is gone. */
static bool is_gone(led *l, char *how, size_t size)
{
    cse_host_end end;
    cse_host_process_turn(l->process);
    if (!cse_host_process_gone(l->process, &end))
        return false;
    cse_host_end_text(l->process, end, how, size);
    cse_host_process_destroy(&l->process);
    return true;
}

static void look_for_end(led *l)
{
    char how[512];
    const bool wanted = l->ends_ns != 0;
    if (!is_gone(l, how, sizeof how)) {
        if (wanted && cse_clock_ns() >= l->ends_ns)
            cse_host_process_signal(l->process, SIGKILL);
        return;
    }
    l->due_ns = 0;
    if (!wanted)
        start_again_later(l, how);
}

/* ---- who takes part ---- */

static int look_at_hosts(const led *l, cse_host_group *group, bool *takes_part)
{
    int count = 0;
    for (int h = 0; h < l->options.host_count; h++) {
        cse_host_view view;
        cse_host_group_look(group, h, &view);
        takes_part[h] = view.state == CSE_MEMBER_PRESENT || view.state == CSE_MEMBER_EXPECTED;
        count += takes_part[h];
    }
    return count;
}

static void end_job(led *l)
{
    if (l->ends_ns != 0)
        return;
    l->ends_ns = cse_clock_ns() + ENDING_NS;
    cse_host_process_signal(l->process, SIGTERM);
}

void cse_led_carriers_turn(cse_led_carriers *l, cse_host_group *group)
{
    bool takes_part[CSE_MAX_HOSTS] = { false };
    const int count = look_at_hosts(l, group, takes_part);
    const bool same = memcmp(takes_part, l->takes_part, sizeof takes_part) == 0;
    if (l->process != NULL) {
        if (!same)
            end_job(l);
        look_for_end(l);
        return;
    }
    if (count < 2 || (same && cse_clock_ns() < l->due_ns))
        return;
    if (!same)
        cse_log_line(CSE_LOG_INFO, "the carriers of the link mpi are started again with %d hosts",
                     count);
    memcpy(l->takes_part, takes_part, sizeof takes_part);
    if (start(l) != CSE_OK)
        start_again_later(l, cse_error_message());
}

cse_status cse_led_carriers_start(cse_led_carriers *l)
{
    const int64_t end_ns = cse_clock_ns() + READY_NS;
    char how[512];
    for (int h = 0; h < l->options.host_count; h++)
        l->takes_part[h] = true;
    CSE_TRY(start(l));
    while (!l->ready) {
        if (is_gone(l, how, sizeof how))
            return cse_fail(CSE_UNAVAILABLE, "the carriers of the link mpi: %s", ended(l, how));
        if (cse_clock_ns() >= end_ns)
            return cse_fail(CSE_UNAVAILABLE, "the carriers of the link mpi: %s",
                            ended(l, "not ready within 60 s"));
        cse_sleep_ns(TURN_NS);
    }
    return CSE_OK;
}

/* ---- new, close ---- */

static cse_status find_program(led *l)
{
    const char *slash = strrchr(l->options.program, '/');
    snprintf(l->program, sizeof l->program, "%.*s/%s",
             (int)(slash != NULL ? slash - l->options.program : 0), l->options.program,
             program_name);
    if (access(l->program, X_OK) == 0)
        return CSE_OK;
    return cse_fail_at(
        &(cse_error){ .status = CSE_UNAVAILABLE,
                      .hint = "install libopenmpi-dev and build again, or use host_link: tcp" },
        "backend.cluster_config.host_link: mpi: there is no %s: this csengine was built without "
        "Open MPI",
        l->program);
}

cse_status cse_led_carriers_new(const cse_led_carriers_options *options,
                                cse_led_carriers **carriers)
{
    led *l = cse_calloc(1, sizeof *l);
    uint64_t random[2];
    cse_status status = CSE_OK;
    l->options = *options;
    l->arena = cse_arena_new();
    if (getrandom(random, sizeof random, 0) != sizeof random)
        status = cse_fail(CSE_TEMPORARY, "hosts: the kernel gives no random bytes");
    else
        snprintf(l->token, sizeof l->token, "%016llx%016llx", (unsigned long long)random[0],
                 (unsigned long long)random[1]);
    if (status == CSE_OK)
        status = find_program(l);
    cse_words checked = { 0 };
    if (status == CSE_OK)
        status = cse_words_split(&checked, l->arena, options->options);
    *carriers = l;
    if (status != CSE_OK)
        cse_led_carriers_close(carriers);
    return status;
}

const char *cse_led_carriers_token(const cse_led_carriers *carriers)
{
    return carriers->token;
}

void cse_led_carriers_close(cse_led_carriers **carriers)
{
    led *l = *carriers;
    if (l == NULL)
        return;
    cse_host_end end;
    const int64_t end_ns = cse_clock_ns() + ENDING_NS;
    if (l->process != NULL) {
        l->ends_ns = INT64_MAX;
        cse_host_process_close_input(l->process);
        while (!cse_host_process_gone(l->process, &end) && cse_clock_ns() < end_ns) {
            cse_host_process_turn(l->process);
            cse_sleep_ns(TURN_NS);
        }
        /* mpirun takes the carriers of other hosts with it. */
        cse_host_process_signal(l->process, SIGTERM);
        cse_host_process_destroy(&l->process);
    }
    cse_arena_destroy(&l->arena);
    free(l);
    *carriers = NULL;
}
