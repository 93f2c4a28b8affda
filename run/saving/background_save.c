/* The writer is watched as workers are: only the kernel's word that it is gone counts, and then
 * what it left in the shared memory. */
#include "run/saving/background_save.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/log.h"
#include "engine/base/pages.h"
#include "engine/formats/checkpoint/shared_checkpoint.h"
#include "workers/control/process.h"
#include "workers/launchers/launcher.h"

enum {
    MOST_WRITERS = 3,
    WAIT_MS = 100,
    /* A disk may be slow, but nothing is waited for without a limit: until a writer counts as
     * frozen, beside the time for its bytes at the least rate. CSENGINE_WRITER_LIMIT_MS sets
     * another one. */
    LIMIT_MS = 120000,
    LEAST_BYTES_PER_MS = 2000,
};
#define MILLISECONDS INT64_C(1000000)

struct cse_background_save {
    cse_shared_checkpoint *memory;
    cse_background_request request;
    char *path, *links;
    int64_t step, start_ns;
    const cse_launcher *launcher;
    cse_worker_process *writer;
    int writers;         /* that were started */
    int64_t deadline_ns; /* of the one that runs; 0: it was killed for that */
};

/* ---- the copy ---- */

/* In pieces that leave memory again, where the values are in a file. */
static cse_status put(cse_shared_checkpoint *memory, const unsigned char *values, size_t bytes,
                      bool in_file, uint64_t *offset)
{
    enum { PIECE_BYTES = 1 << 18 }; /* of whole lines: pieces lie one behind the other */
    if (!in_file || bytes <= PIECE_BYTES) {
        CSE_TRY(cse_shared_checkpoint_put(memory, values, bytes, offset));
        if (in_file)
            cse_pages_let_go(values, bytes);
        return CSE_OK;
    }
    for (size_t done = 0; done < bytes; done += PIECE_BYTES) {
        const size_t size = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;
        uint64_t place;
        cse_pages_read_ahead(values + done, size);
        CSE_TRY(cse_shared_checkpoint_put(memory, values + done, size, &place));
        cse_pages_let_go(values + done, size);
        if (done == 0)
            *offset = place;
    }
    return CSE_OK;
}

cse_status cse_session_capture(cse_session *session, const cse_graph *graph,
                               cse_state *const *bound, const unsigned char *states)
{
    cse_shared_checkpoint *memory = NULL;
    uint64_t *offsets = cse_calloc((size_t)graph->state_count + 1, sizeof *offsets);
    const cse_cluster_options *cluster = &session->opened.cluster;
    const char *directory = cluster->states_directory;
    if (directory == NULL && cluster->state_copies > 0) /* no more memory than one host's part */
        directory = cluster->gather_directory;
    cse_status status = cse_shared_checkpoint_new_in(directory, &memory);
    for (int i = 0; i < graph->state_count && status == CSE_OK; i++)
        if (!bound[i]->constant)
            status = put(memory, states + graph->states[i].offset_bytes, cse_state_bytes(bound[i]),
                         directory != NULL, &offsets[i]);
    if (status == CSE_OK)
        status = cse_shared_checkpoint_map(memory);
    for (int i = 0; i < graph->state_count && status == CSE_OK; i++)
        if (!bound[i]->constant)
            cse_state_borrow_values(bound[i], cse_shared_checkpoint_at_view(memory, offsets[i]));
    free(offsets);
    if (status != CSE_OK) {
        cse_shared_checkpoint_destroy(&memory);
        return status;
    }
    cse_session_end_capture(session);
    session->saving.captured = memory;
    return CSE_OK;
}

void cse_session_end_capture(cse_session *session)
{
    cse_shared_checkpoint_destroy(&session->saving.captured);
}

bool cse_session_has_captured(const cse_session *session, const cse_state *state)
{
    const struct cse_background_save *saving = session->saving.background;
    return state->borrowed &&
           ((session->saving.captured != NULL &&
             cse_shared_checkpoint_has(session->saving.captured, state->values)) ||
            (saving != NULL && cse_shared_checkpoint_has(saving->memory, state->values)));
}

/* ---- the writer ---- */

static void release(struct cse_background_save **saving)
{
    struct cse_background_save *s = *saving;
    if (s == NULL)
        return;
    if (s->writer != NULL)
        s->launcher->destroy(&s->writer);
    cse_shared_checkpoint_destroy(&s->memory);
    free(s->path);
    free(s->links);
    free(s);
    *saving = NULL;
}

static int64_t deadline_ns(const struct cse_background_save *s)
{
    const char *given = getenv("CSENGINE_WRITER_LIMIT_MS");
    long limit_ms = given != NULL ? strtol(given, NULL, 10) : 0;
    if (limit_ms < 1 || limit_ms > 86400000)
        limit_ms = LIMIT_MS;
    const uint64_t bytes = cse_shared_checkpoint_bytes(s->memory);
    return cse_clock_ns() + (limit_ms + (int64_t)(bytes / LEAST_BYTES_PER_MS)) * MILLISECONDS;
}

static cse_status start_writer(const cse_session *session, struct cse_background_save *s)
{
    char executable[PATH_MAX], descriptor[16];
    char program[] = "csengine", command[] = "writer";
    const int number = cse_shared_checkpoint_descriptor(s->memory);
    CSE_TRY(cse_launcher_select(session->opened.cluster.launcher, &s->launcher));
    CSE_TRY(cse_worker_executable(session->opened.cluster.worker_executable, executable,
                                  sizeof executable));
    snprintf(descriptor, sizeof descriptor, "%d", number);
    char *const arguments[] = { program, command, descriptor, NULL };
    const char *const environment[] = { NULL };
    s->writers++;
    s->deadline_ns = deadline_ns(s);
    return s->launcher->start(&(cse_launch_options){ .executable = executable,
                                                     .arguments = arguments,
                                                     .environment = environment,
                                                     .inherited_descriptor = number,
                                                     .processor = -1 },
                              &s->writer);
}

static cse_status begin(cse_session *session, struct cse_background_save *s)
{
    cse_checkpoint checkpoint;
    cse_session_checkpoint(session, &checkpoint);
    s->step = checkpoint.global_step;
    s->links = checkpoint.links != NULL ? cse_strdup(checkpoint.links) : NULL;
    for (const cse_session_observer *to = &session->observer; to != NULL; to = to->next)
        if (to->on_save != NULL)
            to->on_save(to->self);
    cse_status status = cse_shared_checkpoint_finish(s->memory, &checkpoint, s->path);
    free(checkpoint.tensors);
    return status == CSE_OK ? start_writer(session, s) : status;
}

bool cse_session_can_save_in_background(const cse_session *session)
{
    return session->saving.captured != NULL && session->saving.background == NULL;
}

cse_status cse_session_save_in_background(cse_session *session,
                                          const cse_background_request *request)
{
    if (!cse_session_can_save_in_background(session))
        return cse_fail(CSE_USAGE, "%s: nothing was captured that another process can write",
                        request->path);
    CSE_TRY(cse_network_may_read(&session->network, "a checkpoint"));
    struct cse_background_save *s = cse_calloc(1, sizeof *s);
    s->request = *request;
    s->path = cse_strdup(request->path);
    s->start_ns = cse_clock_ns();
    s->memory = session->saving.captured;
    cse_status status = begin(session, s);
    if (status != CSE_OK) {
        s->memory = NULL; /* stays the session's */
        release(&s);
        return status;
    }
    session->saving.captured = NULL;
    session->saving.background = s;
    return CSE_OK;
}

bool cse_session_is_saving(const cse_session *session)
{
    return session->saving.background != NULL;
}

/* The status of the writer that ended so. */
static cse_status status_of(cse_session *session, struct cse_background_save *s, cse_exit how)
{
    char text[128];
    cse_shared_outcome *outcome = cse_calloc(1, sizeof *outcome);
    cse_status status = CSE_IO;
    if (how.code != 0 || !cse_shared_checkpoint_outcome(s->memory, outcome)) {
        cse_fail(CSE_IO, "%s: each of the %d processes that should write it died; the last %s",
                 s->path, s->writers, cse_exit_text(how, text, sizeof text));
    } else if (outcome->status != CSE_OK) {
        status = cse_fail(outcome->status, "%s", outcome->message);
    } else {
        const cse_checkpoint written = { .links = s->links, .global_step = s->step };
        memcpy(session->saving.digest, outcome->digest, sizeof session->saving.digest);
        cse_session_link_to(session, &written, s->path);
        status = CSE_OK;
    }
    free(outcome);
    return status;
}

/* One that died, with no outcome: another one writes over what it left. */
static bool is_replaced(cse_session *session, struct cse_background_save *s, cse_exit how)
{
    char text[128];
    if (how.code == 0 || s->writers >= MOST_WRITERS)
        return false;
    s->launcher->destroy(&s->writer);
    cse_log_line(CSE_LOG_WARNING,
                 "checkpoint of step %lld: the process that wrote it %s; another "
                 "one begins again",
                 (long long)s->step, cse_exit_text(how, text, sizeof text));
    if (start_writer(session, s) == CSE_OK)
        return true;
    cse_log_line(CSE_LOG_WARNING, "%s", cse_error_message());
    return false;
}

/* Kills one that does not come to an end; that it is gone is seen later. */
static void watch_deadline(struct cse_background_save *s)
{
    if (s->deadline_ns == 0 || cse_clock_ns() < s->deadline_ns)
        return;
    cse_log_line(
        CSE_LOG_WARNING,
        "checkpoint of step %lld: the process that writes it comes to no end and is killed",
        (long long)s->step);
    s->launcher->signal(s->writer, SIGKILL);
    s->deadline_ns = 0;
}

cse_status cse_session_saving_turn(cse_session *session)
{
    struct cse_background_save *s = session->saving.background;
    cse_exit how = { .code = -1 };
    if (s == NULL)
        return CSE_OK;
    if (s->writer != NULL && !s->launcher->gone(s->writer, &how)) {
        watch_deadline(s);
        return CSE_OK;
    }
    if (is_replaced(session, s, how))
        return CSE_OK;
    cse_background_result result = { .status = status_of(session, s, how),
                                     .step = s->step,
                                     .start_ns = s->start_ns,
                                     .end_ns = cse_clock_ns(),
                                     .path = s->path };
    if (how.code != 0)
        cse_checkpoint_remove_part(s->path);
    session->saving.background = NULL; /* the next one may begin in `done` */
    cse_status status = s->request.done(s->request.self, &result);
    release(&s);
    return status;
}

cse_status cse_session_finish_saving(cse_session *session, bool wait)
{
    cse_status status = CSE_OK;
    while (wait && session->saving.background != NULL) {
        struct cse_background_save *s = session->saving.background;
        struct pollfd ended = { .fd = s->writer != NULL ? s->launcher->descriptor(s->writer) : -1,
                                .events = POLLIN };
        if (s->writer != NULL)
            poll(&ended, 1, WAIT_MS);
        status = cse_session_saving_turn(session);
    }
    if (session->saving.background != NULL) {
        char *path = cse_strdup(session->saving.background->path);
        release(&session->saving.background);
        cse_checkpoint_remove_part(path);
        free(path);
    }
    return status;
}

cse_status cse_session_end_saving(cse_session *session, cse_status status)
{
    cse_error *failure = status != CSE_OK ? cse_error_copy(cse_error_last()) : NULL;
    cse_status saved = cse_session_finish_saving(session, status != CSE_INTERRUPTED);
    if (failure != NULL)
        cse_fail_again(failure);
    free(failure);
    return status != CSE_OK ? status : saved;
}
