/* Surveys over nanomsg, and the thread that answers them.
 *
 * Limits of nanomsg surveys: a new survey cancels the one before; an answer after the deadline is
 * dropped silently; receiving after the end of a survey fails with ETIMEDOUT once, then with EFSM;
 * a respondent that connects after a survey was sent does not get it. So questions carry a number
 * and are repeated, and answers with an older number are ignored. */
#include "workers/messages/liveness.h"

#include <errno.h>
#include <nanomsg/nn.h>
#include <nanomsg/survey.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

/* On the wire: four little-endian 32-bit numbers; a question has no slot and incarnation. */
enum { QUESTION_BYTES = 8, ANSWER_BYTES = 16 };
#define LIVENESS_MAGIC UINT32_C(0x4c455343) /* "CSEL" */

typedef struct watched {
    int incarnation; /* -1: no process is watched in this slot */
    bool expected;   /* missing answers are counted */
    bool answered;   /* in the current survey */
    int missed;      /* consecutive surveys without an answer */
} watched;

struct cse_liveness {
    cse_liveness_options options;
    int socket;
    uint32_t survey; /* number of the last question; 0 before the first */
    int64_t asked_ns;
    watched slots[];
};

static void put32(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

static uint32_t get32(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

cse_status cse_liveness_open(const cse_liveness_options *options, cse_liveness **liveness)
{
    int socket = nn_socket(AF_SP, NN_SURVEYOR);
    int deadline_ms = (int)(options->interval_ns / 1000000);
    if (deadline_ms < 1)
        deadline_ms = 1;
    if (socket < 0 ||
        nn_setsockopt(socket, NN_SURVEYOR, NN_SURVEYOR_DEADLINE, &deadline_ms, sizeof deadline_ms) <
            0 ||
        nn_bind(socket, options->endpoint) < 0) {
        cse_status status = cse_fail(CSE_UNAVAILABLE, "liveness socket %s: cannot listen: %s",
                                     options->endpoint, nn_strerror(errno));
        if (socket >= 0)
            nn_close(socket);
        return status;
    }
    cse_liveness *l = cse_calloc(1, sizeof *l + (size_t)options->slot_count * sizeof l->slots[0]);
    l->options = *options;
    l->options.endpoint = NULL; /* borrowed for the call */
    l->socket = socket;
    for (int s = 0; s < options->slot_count; s++)
        l->slots[s].incarnation = -1;
    *liveness = l;
    return CSE_OK;
}

void cse_liveness_close(cse_liveness **liveness)
{
    if (*liveness == NULL)
        return;
    nn_close((*liveness)->socket);
    free(*liveness);
    *liveness = NULL;
}

void cse_liveness_watch(cse_liveness *liveness, int slot, int incarnation)
{
    liveness->slots[slot] = (watched){ .incarnation = incarnation };
}

void cse_liveness_expect(cse_liveness *liveness, int slot, int incarnation)
{
    if (slot >= 0 && slot < liveness->options.slot_count &&
        liveness->slots[slot].incarnation == incarnation)
        liveness->slots[slot].expected = true;
}

void cse_liveness_forget(cse_liveness *liveness, int slot)
{
    liveness->slots[slot] = (watched){ .incarnation = -1 };
}

static void take_answers(cse_liveness *l)
{
    unsigned char answer[ANSWER_BYTES];
    int size;
    while ((size = nn_recv(l->socket, answer, sizeof answer, NN_DONTWAIT)) >= 0) {
        if (size != ANSWER_BYTES || get32(answer) != LIVENESS_MAGIC ||
            get32(answer + 4) != l->survey)
            continue;
        uint32_t slot = get32(answer + 8);
        if (slot >= (uint32_t)l->options.slot_count)
            continue;
        watched *w = &l->slots[slot];
        if (w->incarnation < 0 || (uint32_t)w->incarnation != get32(answer + 12))
            continue;
        w->answered = true;
        w->expected = true;
    }
}

static void close_survey(cse_liveness *l)
{
    for (int s = 0; s < l->options.slot_count; s++) {
        watched *w = &l->slots[s];
        w->missed = w->answered || !w->expected ? 0 : w->missed + 1;
        w->answered = false;
    }
}

static void ask(cse_liveness *l, int64_t now_ns)
{
    unsigned char question[QUESTION_BYTES];
    l->survey = l->survey == UINT32_MAX ? 1 : l->survey + 1;
    l->asked_ns = now_ns;
    put32(question, LIVENESS_MAGIC);
    put32(question + 4, l->survey);
    nn_send(l->socket, question, sizeof question, NN_DONTWAIT);
}

int cse_liveness_poll(cse_liveness *l, int64_t now_ns)
{
    take_answers(l);
    if (l->survey == 0) {
        ask(l, now_ns);
    } else if (now_ns - l->asked_ns >= l->options.interval_ns) {
        /* When the coordinator itself was stopped, answers were dropped at the deadline: such a
         * late survey is repeated and not counted against the workers. */
        if (now_ns - l->asked_ns < 3 * l->options.interval_ns)
            close_survey(l);
        ask(l, now_ns);
    }
    for (int s = 0; s < l->options.slot_count; s++)
        if (l->slots[s].missed >= l->options.misses) {
            cse_liveness_forget(l, s);
            return s;
        }
    return -1;
}

struct cse_respondent {
    int socket;
    pthread_t thread;
    int slot, incarnation;
};

static void *answer_loop(void *argument)
{
    cse_respondent *r = argument;
    unsigned char question[QUESTION_BYTES], answer[ANSWER_BYTES];
    for (;;) {
        int size = nn_recv(r->socket, question, sizeof question, 0);
        if (size < 0 && (errno == EINTR || errno == ETIMEDOUT || errno == EAGAIN))
            continue;
        if (size < 0)
            return NULL; /* EBADF: the socket was closed to end this thread */
        if (size != QUESTION_BYTES || get32(question) != LIVENESS_MAGIC)
            continue;
        memcpy(answer, question, QUESTION_BYTES);
        put32(answer + 8, (uint32_t)r->slot);
        put32(answer + 12, (uint32_t)r->incarnation);
        nn_send(r->socket, answer, sizeof answer, NN_DONTWAIT);
    }
}

static int start_silent_thread(cse_respondent *r)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* only the main thread handles signals */
    int error = pthread_create(&r->thread, NULL, answer_loop, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

cse_status cse_respondent_start(const char *endpoint, int slot, int incarnation,
                                cse_respondent **respondent)
{
    int socket = nn_socket(AF_SP, NN_RESPONDENT);
    if (socket < 0 || nn_connect(socket, endpoint) < 0) {
        cse_status status = cse_fail(CSE_UNAVAILABLE, "liveness socket %s: cannot connect: %s",
                                     endpoint, nn_strerror(errno));
        if (socket >= 0)
            nn_close(socket);
        return status;
    }
    cse_respondent *r = cse_calloc(1, sizeof *r);
    r->socket = socket;
    r->slot = slot;
    r->incarnation = incarnation;
    int error = start_silent_thread(r);
    if (error != 0) {
        nn_close(socket);
        free(r);
        return cse_fail(CSE_TEMPORARY, "liveness thread: cannot be started: %s", strerror(error));
    }
    *respondent = r;
    return CSE_OK;
}

void cse_respondent_stop(cse_respondent **respondent)
{
    cse_respondent *r = *respondent;
    if (r == NULL)
        return;
    nn_close(r->socket);
    pthread_join(r->thread, NULL);
    free(r);
    *respondent = NULL;
}
