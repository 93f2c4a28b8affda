/* What happens to a group of hosts, and what follows from it. */
#include "workers/group/members_state.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/log.h"

enum {
    LEAST_AHEAD = 2, /* steps that are released beyond those done */
    MOST_AHEAD = 64,
};

cse_members *cse_members_new(const cse_members_options *options, int64_t now_ns)
{
    cse_members *m = cse_calloc(1, sizeof *m);
    m->options = *options;
    m->leader = options->leader;
    m->epoch = options->epoch;
    m->ticked_ns = now_ns;
    for (int h = 0; h < options->host_count; h++) {
        cse_member *one = &m->members[h];
        one->state = cse_hosts_have(&options->absent, h) ? CSE_MEMBER_ABSENT : CSE_MEMBER_EXPECTED;
        one->heard_ns = now_ns;
        one->steps_done = -1;
        one->sent_bytes = -1;
    }
    m->shares = (cse_measured_shares){ .host_count = options->host_count,
                                       .replicas = options->replicas,
                                       .even = options->even_shares };
    m->members[options->host].state = CSE_MEMBER_PRESENT;
    if (m->leader == options->host)
        m->check = cse_record_check_new(options->host_count, options->host);
    return m;
}

void cse_members_destroy(cse_members **members)
{
    cse_members *m = *members;
    if (m == NULL)
        return;
    cse_record_check_destroy(&m->check);
    cse_text_clear(&m->digests);
    cse_text_clear(&m->others);
    free(m->chunk);
    free(m);
    *members = NULL;
}

bool cse_members_leads(const cse_members *m)
{
    return m->leader == m->options.host;
}

bool cse_members_counts(const cse_members *m, int host)
{
    const cse_member_state state = m->members[host].state;
    return state == CSE_MEMBER_PRESENT || state == CSE_MEMBER_EXPECTED;
}

cse_status cse_members_send(cse_members *m, int host, const cse_host_message *message)
{
    if (!m->members[host].connected)
        return CSE_UNAVAILABLE;
    return m->options.io->send(m->options.io->self, host, message);
}

/* ---- losses ---- */

static void lose(cse_members *m, int host, const char *why)
{
    cse_member *one = &m->members[host];
    if (!cse_members_counts(m, host))
        return;
    one->state = CSE_MEMBER_LOST;
    snprintf(one->why, sizeof one->why, "%s", why);
    m->epoch++;
    m->wants_cut = true;
    if (m->options.names != NULL)
        cse_log_line(CSE_LOG_WARNING, "host %s is lost: %s", m->options.names[host], why);
}

void cse_members_look_for_losses(cse_members *m, int64_t now_ns)
{
    char why[CSE_MEMBERS_WHY_BYTES];
    for (int h = 0; h < m->options.host_count; h++) {
        const cse_member *one = &m->members[h];
        if (h == m->options.host || !cse_members_counts(m, h) ||
            (one->state == CSE_MEMBER_EXPECTED && !m->took_lead))
            continue;
        const int64_t silent_ns = now_ns - one->heard_ns;
        if (one->gone && !one->connected && silent_ns > CSE_MEMBERS_GONE_NS)
            snprintf(why, sizeof why, "%.400s", one->why[0] != '\0' ? one->why : "it has ended");
        else if (silent_ns > m->options.lease_ns)
            snprintf(why, sizeof why, "nothing was heard of it for %.1f s%s",
                     (double)silent_ns * 1e-9, one->connected ? "" : ", it is not connected");
        else
            continue;
        lose(m, h, why);
    }
}

void cse_members_connected(cse_members *m, int host, int64_t now_ns)
{
    cse_member *one = &m->members[host];
    one->connected = true;
    one->said_hello = one->knows_hello = false;
    one->heard_ns = now_ns;
    one->told_ns = 0;
    one->told_end = false;
    one->sent_cut = one->known_cut;
    one->sent_epoch = 0;
    if (m->job.kind != 0 && one->sent_bytes < m->job.job.file_bytes)
        one->sent_bytes = -1;
    if (host == m->leader)
        m->ready_sent = m->cut_known_sent = 0;
}

void cse_members_disconnected(cse_members *m, int host)
{
    m->members[host].connected = false;
}

void cse_members_gone(cse_members *m, int host, const char *how)
{
    cse_member *one = &m->members[host];
    if (one->gone)
        return;
    one->gone = true;
    if (!cse_members_counts(m, host))
        return;
    snprintf(one->why, sizeof one->why, "%s", how);
    /* A follower hears of the leader by its connection alone. */
    if (one->state == CSE_MEMBER_EXPECTED && cse_members_leads(m))
        lose(m, host, how);
}

/* ---- who is let in ---- */

/* Names of instruction sets and digests of kernels may differ where all bits are those of portable
 * code; a build has to be the same. */
static bool agrees(const cse_members *m, const cse_host_message *hello,
                   char why[CSE_MEMBERS_WHY_BYTES])
{
    const cse_host_identity *own = &m->options.identity;
    const bool portable = strcmp(own->deterministic, "portable") == 0;
    const struct {
        const char *what, *here, *there;
        bool counts;
    } rows[] = {
        { "build", own->build, hello->hello.build, !portable },
        { "setting deterministic", own->deterministic, hello->hello.deterministic, true },
        { "instruction set", own->instruction_set, hello->hello.instruction_set, !portable },
        { "bits of the kernels' self-test", own->kernels, hello->hello.kernels, true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!rows[i].counts || strcmp(rows[i].here, rows[i].there) == 0)
            continue;
        snprintf(why, CSE_MEMBERS_WHY_BYTES, "its %s is %.80s, that of the leading host %.80s%s",
                 rows[i].what, rows[i].there, rows[i].here,
                 i >= 2 && !portable ? "; hosts that differ need deterministic: portable" : "");
        return false;
    }
    return true;
}

static void refuse(cse_members *m, int host)
{
    cse_host_message refused = { .kind = CSE_HOST_REFUSED };
    refused.refused.epoch = m->epoch;
    refused.refused.status = CSE_UNAVAILABLE;
    refused.refused.reason = m->members[host].why;
    (void)cse_members_send(m, host, &refused);
}

static void take_hello(cse_members *m, int host, const cse_host_message *hello)
{
    cse_member *one = &m->members[host];
    char why[CSE_MEMBERS_WHY_BYTES];
    one->said_hello = true;
    if (one->state == CSE_MEMBER_EXPECTED && !agrees(m, hello, why))
        lose(m, host, why);
    else if (one->state == CSE_MEMBER_PRESENT && one->process != hello->hello.process)
        lose(m, host, "its program was started again");
    if (!cse_members_counts(m, host)) {
        refuse(m, host);
        return;
    }
    one->state = CSE_MEMBER_PRESENT;
    one->process = hello->hello.process;
}

/* ---- records ---- */

void cse_members_note_record(cse_members *m, int64_t step, uint64_t digest)
{
    const cse_record_digest record = { m->execution.number, step, digest };
    if (record.execution == 0) /* of a leader before */
        return;
    if (cse_members_leads(m))
        cse_record_check_note(m->check, m->options.host, &record);
    else
        m->records[m->record_count++ % CSE_RECORD_CHECK_STEPS] = record;
}

static void take_digests(cse_members *m, int host, const cse_host_message *turn)
{
    for (size_t i = 0; i < turn->turn.digests.size / 8; i++)
        cse_record_check_note(
            m->check, host,
            &(cse_record_digest){ .execution = turn->turn.records_of,
                                  .step = turn->turn.first_step + (int64_t)i,
                                  .digest = cse_host_number_at(&turn->turn.digests, i) });
}

/* ---- progress ---- */

static void note_progress(cse_member *one, int64_t execution, int64_t steps_done)
{
    if (execution < one->execution ||
        (execution == one->execution && steps_done <= one->steps_done))
        return;
    one->execution = execution;
    one->steps_done = steps_done;
}

/* A leader that is at the next execution has released all of this one. */
static void take_limit(cse_members *m, const cse_host_message *turn)
{
    if (turn->turn.execution == m->execution.number && turn->turn.limit > m->limit)
        m->limit = turn->turn.limit;
    else if (turn->turn.execution > m->execution.number)
        m->limit = m->execution.last_step;
}

bool cse_members_leader_left(const cse_members *m)
{
    return !cse_members_leads(m) && m->members[m->leader].execution > m->execution.number;
}

static void take_turn(cse_members *m, int host, const cse_host_message *turn)
{
    note_progress(&m->members[host], turn->turn.execution, turn->turn.steps_done);
    if (cse_members_leads(m)) {
        take_digests(m, host, turn);
        cse_shares_note(&m->shares, host, turn->turn.execution,
                        &(cse_host_work){ .microbatches = turn->turn.microbatches,
                                          .compute_ns = turn->turn.compute_ns,
                                          .exposed_ns = turn->turn.exposed_ns });
    } else if (host == m->leader)
        take_limit(m, turn);
    for (size_t h = 0; host == m->leader && h < turn->turn.others.size / 16; h++)
        if ((int)h != m->options.host && (int)h < m->options.host_count)
            note_progress(&m->members[h], (int64_t)cse_host_number_at(&turn->turn.others, 2 * h),
                          (int64_t)cse_host_number_at(&turn->turn.others, 2 * h + 1));
}

void cse_members_note_steps(cse_members *m, int64_t steps_done)
{
    m->steps_done = steps_done;
}

void cse_members_note_work(cse_members *m, const cse_host_work *work)
{
    m->work = *work;
    if (cse_members_leads(m))
        cse_shares_note(&m->shares, m->options.host, m->execution.number, work);
}

/* ---- cuts ---- */

static cse_host_set present(const cse_members *m)
{
    cse_host_set set = { { 0 } };
    for (int h = 0; h < m->options.host_count; h++)
        if (m->members[h].state == CSE_MEMBER_PRESENT)
            cse_hosts_add(&set, h);
    return set;
}

static void tell_cut(const cse_members *m, const cse_host_cut *before)
{
    cse_text line = { 0 };
    if (before->bounds[before->host_count] != m->execution.microbatches ||
        m->options.names == NULL ||
        memcmp(before->bounds, m->newest.cut.bounds, sizeof before->bounds) == 0)
        return;
    cse_shares_tell(&m->shares, m->options.names, before, &m->newest.cut, &line);
    cse_log_line(CSE_LOG_INFO, "%s", line.data);
    cse_text_clear(&line);
}

static void make_cut(cse_members *m, int64_t first_step)
{
    m->newest = (cse_numbered_cut){ .number = ++m->cut_count, .execution = m->execution.number };
    const cse_host_set hosts = present(m);
    cse_shares_plan(&m->shares, m->execution.microbatches, &hosts, &m->newest.cut);
    m->newest.cut.first_step = first_step;
    m->wants_cut = false;
    if (!m->wants_end)
        tell_cut(m, &m->last_cut);
    m->last_cut = m->newest.cut;
}

/* Whether somebody who takes part does not have the newest cut yet. */
static bool is_cut_pending(const cse_members *m)
{
    if (m->newest.number == m->first.number)
        return false;
    for (int h = 0; h < m->options.host_count; h++)
        if (h != m->options.host && m->members[h].state == CSE_MEMBER_PRESENT &&
            m->members[h].known_cut < m->newest.number)
            return true;
    return !m->set;
}

/* The cut of an execution that is to end stays. */
static void look_at_shares(cse_members *m)
{
    const cse_host_set hosts = present(m);
    if (m->executes && !m->newest.ends && !is_cut_pending(m) &&
        cse_shares_want_cut(&m->shares, &m->newest.cut, &hosts, m->steps_done, m->ticked_ns))
        m->wants_cut = true;
}

static void cut_anew(cse_members *m)
{
    if (!(m->wants_cut || m->wants_end) || !m->executes || m->newest.ends || is_cut_pending(m) ||
        m->steps_done < m->newest.cut.first_step || m->promised + 2 >= m->execution.last_step)
        return;
    make_cut(m, m->promised + 2);
    m->newest.ends = m->wants_end;
    m->set = m->wants_end;
    m->wants_end = false;
}

void cse_members_end_execution(cse_members *m)
{
    m->wants_end = true;
}

/* The step after which the execution ends early. */
static int64_t ends_at(const cse_members *m)
{
    const bool ends = m->newest.ends && m->newest.execution == m->execution.number;
    return ends ? m->newest.cut.first_step : INT64_MAX;
}

bool cse_members_ends_here(const cse_members *m)
{
    return m->executes && m->steps_done >= ends_at(m);
}

int64_t cse_members_most_released(cse_members *m)
{
    if (!cse_members_leads(m))
        return m->limit < ends_at(m) ? m->limit : ends_at(m);
    int64_t ahead = LEAST_AHEAD + 4 * (m->steps_done - m->steps_before);
    m->steps_before = m->steps_done;
    ahead = ahead > MOST_AHEAD ? MOST_AHEAD : ahead;
    look_at_shares(m);
    cut_anew(m);
    if (!is_cut_pending(m) && m->steps_done + ahead > m->promised)
        m->promised = m->steps_done + ahead;
    if (m->promised > ends_at(m))
        m->promised = ends_at(m);
    return m->promised;
}

const cse_host_cut *cse_members_next_cut(const cse_members *m)
{
    return m->executes && !m->set && m->newest.execution == m->execution.number ? &m->newest.cut
                                                                                : NULL;
}

void cse_members_cut_is_set(cse_members *m)
{
    m->set = true;
}

static cse_status take_cut(cse_members *m, const cse_host_message *message)
{
    cse_numbered_cut cut = { .number = message->cut.number, .execution = message->cut.execution };
    cut.ends = message->cut.ends != 0;
    cut.cut.first_step = message->cut.first_step;
    cut.cut.host_count = m->options.host_count;
    CSE_TRY(cse_host_bounds_decode(&message->cut.bounds, m->options.host_count, cut.cut.bounds));
    if (cut.number <= m->newest.number)
        return CSE_OK;
    if (cut.execution != m->newest.execution)
        m->first = cut;
    m->set = m->first.number == cut.number || cut.ends;
    m->newest = cut;
    return CSE_OK;
}

/* ---- executions ---- */

void cse_members_begin(cse_members *m, const cse_members_execution *execution)
{
    m->execution = *execution;
    m->begun = true;
    m->executes = m->wants_end = false;
    m->steps_done = m->steps_before = m->promised = execution->first_step;
    m->limit = execution->first_step + 2;
    m->work = (cse_host_work){ .microbatches = 0 };
    if (cse_members_leads(m))
        m->first = m->newest = (cse_numbered_cut){ .number = 0 };
}

static bool all_ready(const cse_members *m)
{
    for (int h = 0; h < m->options.host_count; h++)
        if (h != m->options.host && cse_members_counts(m, h) &&
            m->members[h].ready < m->execution.number)
            return false;
    return true;
}

bool cse_members_may_begin(cse_members *m, cse_host_cut *cut)
{
    assert(m->begun);
    if (cse_members_leads(m) && m->first.number == 0) {
        if (!all_ready(m))
            return false;
        make_cut(m, m->execution.first_step);
        m->first = m->newest;
        m->set = true;
    }
    if (m->first.number == 0 || m->first.execution != m->execution.number)
        return false;
    *cut = m->first.cut;
    m->executes = true;
    return true;
}

/* ---- messages ---- */

static void take_end(cse_members *m, const cse_host_message *message)
{
    const bool refused = message->kind == CSE_HOST_REFUSED;
    const char *digest = refused ? "" : message->leave.weights_digest;
    m->end = (cse_host_message){ .kind = message->kind };
    snprintf(m->end_reason, sizeof m->end_reason, "%s",
             refused ? message->refused.reason : message->leave.reason);
    snprintf(m->end_digest, sizeof m->end_digest, "%s", digest);
    if (refused) {
        m->end.refused.status = message->refused.status;
        m->end.refused.reason = m->end_reason;
        return;
    }
    m->end.leave.status = message->leave.status;
    m->end.leave.reason = m->end_reason;
    m->end.leave.weights_digest = m->end_digest;
}

static void take_leave(cse_members *m, int host, const cse_host_message *message)
{
    char why[CSE_MEMBERS_WHY_BYTES];
    snprintf(why, sizeof why, "it cannot go on: %.400s", message->leave.reason);
    lose(m, host, why);
    m->members[host].told_end = true;
}

static cse_status take_as_leader(cse_members *m, int host, const cse_host_message *message)
{
    cse_member *one = &m->members[host];
    if (message->kind == CSE_HOST_HELLO) {
        take_hello(m, host, message);
        return CSE_OK;
    }
    if (one->state != CSE_MEMBER_PRESENT) {
        if (message->kind == CSE_HOST_TURN) /* the others follow one another too fast */
            refuse(m, host);
        return CSE_OK;
    }
    switch (message->kind) {
    case CSE_HOST_READY:
        if (message->ready.execution > one->ready)
            one->ready = message->ready.execution;
        return CSE_OK;
    case CSE_HOST_TURN:
        take_turn(m, host, message);
        return CSE_OK;
    case CSE_HOST_CUT_KNOWN:
        if (message->cut_known.number > one->known_cut)
            one->known_cut = message->cut_known.number;
        return CSE_OK;
    case CSE_HOST_LEAVE:
        take_leave(m, host, message);
        return CSE_OK;
    default:
        return cse_fail(CSE_DATA, "a follower sends %s", cse_host_message_name(message->kind));
    }
}

static void take_lost(cse_members *m, const cse_host_message *message)
{
    const cse_host_set lost = cse_hosts_decode(message->lost.hosts.data);
    for (int h = 0; h < m->options.host_count; h++)
        if (h != m->options.host && cse_hosts_have(&lost, h))
            m->members[h].state = CSE_MEMBER_LOST;
    m->epoch = message->lost.epoch;
}

static cse_status take_as_follower(cse_members *m, int host, const cse_host_message *message)
{
    if (message->kind == CSE_HOST_HELLO) { /* this host may have to lead it */
        m->members[host].knows_hello = true;
        m->members[host].process = message->hello.process;
        return CSE_OK;
    }
    if (host != m->leader) {
        if (message->kind == CSE_HOST_TURN)
            return CSE_OK;
        return cse_fail(CSE_DATA, "host %d, which does not lead, sends %s", host,
                        cse_host_message_name(message->kind));
    }
    switch (message->kind) {
    case CSE_HOST_TURN:
        take_turn(m, host, message);
        return CSE_OK;
    case CSE_HOST_CUT:
        return message->cut.epoch >= m->epoch ? take_cut(m, message) : CSE_OK;
    case CSE_HOST_LOST:
        if (message->lost.epoch >= m->epoch)
            take_lost(m, message);
        return CSE_OK;
    case CSE_HOST_REFUSED:
    case CSE_HOST_LEAVE:
        take_end(m, message);
        return CSE_OK;
    default:
        return cse_fail(CSE_DATA, "the leading host sends %s",
                        cse_host_message_name(message->kind));
    }
}

cse_status cse_members_receive(cse_members *m, int host, const cse_host_message *message,
                               int64_t now_ns)
{
    assert(host >= 0 && host < m->options.host_count && host != m->options.host);
    m->members[host].heard_ns = now_ns;
    return cse_members_leads(m) ? take_as_leader(m, host, message)
                                : take_as_follower(m, host, message);
}

void cse_members_set_job(cse_members *m, const cse_host_message *job)
{
    m->job = *job;
    for (int h = 0; h < m->options.host_count; h++)
        m->members[h].sent_bytes = -1;
}

void cse_members_end(cse_members *m, const cse_host_message *leave)
{
    m->end = *leave;
    m->end.leave.epoch = m->epoch;
}

bool cse_members_all_told(const cse_members *m)
{
    for (int h = 0; h < m->options.host_count; h++)
        if (h != m->options.host && m->members[h].state == CSE_MEMBER_PRESENT &&
            !m->members[h].told_end && !m->members[h].gone)
            return false;
    return true;
}

/* ---- what is known ---- */

int cse_members_leader(const cse_members *m)
{
    return m->leader;
}

int64_t cse_members_epoch(const cse_members *m)
{
    return m->epoch;
}

cse_host_set cse_members_lost(const cse_members *m)
{
    cse_host_set set = { { 0 } };
    for (int h = 0; h < m->options.host_count; h++)
        if (!cse_members_counts(m, h))
            cse_hosts_add(&set, h);
    return set;
}

cse_member_state cse_members_state(const cse_members *m, int host)
{
    return m->members[host].state;
}

bool cse_members_is_gone(const cse_members *m, int host)
{
    return m->members[host].gone || m->members[host].state == CSE_MEMBER_ABSENT;
}

bool cse_members_are_connected(const cse_members *m, int host)
{
    return m->members[host].connected;
}

int64_t cse_members_steps_of(const cse_members *m, int host)
{
    const cse_member *one = &m->members[host];
    const int64_t last = ends_at(m) < m->execution.last_step ? ends_at(m) : m->execution.last_step;
    if (one->execution == m->execution.number && one->steps_done >= 0)
        return one->steps_done;
    return one->execution > m->execution.number ? last : -1;
}

const char *cse_members_why(const cse_members *m, int host)
{
    return m->members[host].why;
}

bool cse_members_differ(const cse_members *m, int *host, int64_t *step)
{
    return m->check != NULL && cse_record_check_differs(m->check, host, step);
}

int cse_members_accused(const cse_members *m, int *told)
{
    *told = 0;
    return m->check != NULL ? cse_record_check_accused(m->check, told) : -1;
}

const cse_host_message *cse_members_told_to_end(const cse_members *m)
{
    return !cse_members_leads(m) && m->end.kind != 0 ? &m->end : NULL;
}
