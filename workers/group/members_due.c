/* What is sent follows from what each host is known to have, so that it does not matter what became
 * of the connections on which it was sent before. */
#include "workers/group/members_state.h"

#include "engine/base/arena.h"

enum { MOST_DIGESTS = 512 }; /* in one message */
#define TURN_INTERVAL_NS INT64_C(4000000)

/* ---- progress ---- */

/* The next records of this host that the leader was not told of, of steps in a row. */
static int add_digests(cse_members *m, cse_member *to, cse_host_message *turn)
{
    int count = 0;
    m->digests.size = 0;
    if (to->told_records < m->record_count - CSE_RECORD_CHECK_STEPS)
        to->told_records = m->record_count - CSE_RECORD_CHECK_STEPS;
    while (count < MOST_DIGESTS && to->told_records + count < m->record_count) {
        const cse_record_digest *next =
            &m->records[(to->told_records + count) % CSE_RECORD_CHECK_STEPS];
        if (count == 0) {
            turn->turn.records_of = next->execution;
            turn->turn.first_step = next->step;
        } else if (next->execution != turn->turn.records_of ||
                   next->step != turn->turn.first_step + count) {
            break;
        }
        cse_host_numbers_add(next->digest, &m->digests);
        count++;
    }
    return count;
}

static void add_others(cse_members *m)
{
    m->others.size = 0;
    for (int h = 0; cse_members_leads(m) && h < m->options.host_count; h++) {
        const cse_member *one = &m->members[h];
        cse_host_numbers_add(one->steps_done >= 0 ? (uint64_t)one->execution : 0, &m->others);
        cse_host_numbers_add(one->steps_done >= 0 ? (uint64_t)one->steps_done : 0, &m->others);
    }
}

static void send_turn(cse_members *m, int host, int64_t now_ns)
{
    cse_member *to = &m->members[host];
    const int64_t since_ns = now_ns - to->told_ns;
    const bool reports = cse_members_leads(m) || host == m->leader;
    const bool news =
        reports && (to->told_steps != m->steps_done || to->told_execution != m->execution.number ||
                    to->told_promise != m->promised ||
                    (!cse_members_leads(m) && to->told_records < m->record_count));
    if (to->told_ns != 0 &&
        since_ns < (news ? TURN_INTERVAL_NS : m->options.lease_ns / CSE_MEMBERS_BEATS))
        return;
    cse_host_message turn = { .kind = CSE_HOST_TURN };
    const int count = host == m->leader ? add_digests(m, to, &turn) : 0;
    add_others(m);
    turn.turn.execution = m->execution.number;
    turn.turn.steps_done = m->steps_done;
    turn.turn.limit = m->promised + 2;
    turn.turn.microbatches = m->work.microbatches;
    turn.turn.compute_ns = m->work.compute_ns;
    turn.turn.exposed_ns = m->work.exposed_ns;
    turn.turn.digests =
        (cse_message_bytes){ (const unsigned char *)m->digests.data, 8 * (size_t)count };
    turn.turn.others = (cse_message_bytes){ (const unsigned char *)m->others.data, m->others.size };
    if (cse_members_send(m, host, &turn) != CSE_OK)
        return;
    to->told_ns = now_ns;
    to->told_steps = m->steps_done;
    to->told_promise = m->promised;
    to->told_execution = m->execution.number;
    to->told_records += count;
}

/* ---- cuts and losses ---- */

static void send_cut(cse_members *m, int host, const cse_numbered_cut *cut)
{
    cse_member *to = &m->members[host];
    unsigned char bounds[CSE_HOST_BOUNDS_BYTES];
    if (cut->number <= to->sent_cut)
        return;
    cse_host_message message = { .kind = CSE_HOST_CUT };
    message.cut.epoch = m->epoch;
    message.cut.number = cut->number;
    message.cut.execution = cut->execution;
    message.cut.first_step = cut->cut.first_step;
    message.cut.ends = cut->ends;
    message.cut.bounds =
        (cse_message_bytes){ bounds, cse_host_bounds_encode(cut->cut.bounds, m->options.host_count,
                                                            bounds) };
    if (cse_members_send(m, host, &message) == CSE_OK)
        to->sent_cut = cut->number;
}

static void send_file(cse_members *m, int host)
{
    cse_member *to = &m->members[host];
    if (to->sent_bytes < 0 && cse_members_send(m, host, &m->job) == CSE_OK)
        to->sent_bytes = 0;
    while (to->sent_bytes >= 0 && to->sent_bytes < m->job.job.file_bytes) {
        cse_host_message file = { .kind = CSE_HOST_FILE };
        const int64_t left = m->job.job.file_bytes - to->sent_bytes;
        const size_t wanted =
            left < CSE_HOST_MESSAGE_CHUNK_BYTES ? (size_t)left : CSE_HOST_MESSAGE_CHUNK_BYTES;
        if (m->chunk == NULL)
            m->chunk = cse_calloc(1, CSE_HOST_MESSAGE_CHUNK_BYTES);
        const int64_t got =
            m->options.io->read_file(m->options.io->self, to->sent_bytes, m->chunk, wanted);
        if (got != (int64_t)wanted)
            return;
        file.file.offset = to->sent_bytes;
        file.file.bytes = (cse_message_bytes){ m->chunk, wanted };
        if (cse_members_send(m, host, &file) != CSE_OK)
            return;
        to->sent_bytes += got;
    }
}

static void send_lost(cse_members *m, int host)
{
    cse_member *to = &m->members[host];
    cse_host_message lost = { .kind = CSE_HOST_LOST };
    const cse_host_set hosts = cse_members_lost(m);
    unsigned char bytes[CSE_HOST_SET_BYTES];
    if (to->sent_epoch >= m->epoch)
        return;
    lost.lost.epoch = m->epoch;
    cse_hosts_encode(&hosts, bytes);
    lost.lost.hosts = (cse_message_bytes){ bytes, sizeof bytes };
    if (cse_members_send(m, host, &lost) == CSE_OK)
        to->sent_epoch = m->epoch;
}

static void lead(cse_members *m, int host, int64_t now_ns)
{
    cse_member *to = &m->members[host];
    if (to->state != CSE_MEMBER_PRESENT || !to->said_hello)
        return;
    if (m->end.kind != 0) {
        if (!to->told_end && cse_members_send(m, host, &m->end) == CSE_OK)
            to->told_end = true;
        return;
    }
    if (m->took_lead && m->job.kind == 0) { /* they follow once they have it */
        send_turn(m, host, now_ns);
        return;
    }
    if (m->job.kind != 0)
        send_file(m, host);
    send_lost(m, host);
    send_cut(m, host, &m->first);
    send_cut(m, host, &m->newest);
    send_turn(m, host, now_ns);
}

static void say_hello(cse_members *m, int host)
{
    const cse_host_identity *own = &m->options.identity;
    cse_host_message hello = { .kind = CSE_HOST_HELLO };
    hello.hello.process = m->options.process;
    hello.hello.build = own->build;
    hello.hello.instruction_set = own->instruction_set;
    hello.hello.kernels = own->kernels;
    hello.hello.deterministic = own->deterministic;
    m->members[host].said_hello = cse_members_send(m, host, &hello) == CSE_OK;
}

/* The leader counts on a cut once the arena has it, or never will. */
static int64_t known_cut(const cse_members *m)
{
    const bool known = m->newest.number > 0 &&
                       (m->execution.number > m->newest.execution || (m->executes && m->set));
    return known ? m->newest.number : 0;
}

static void follow(cse_members *m, int host, int64_t now_ns)
{
    if (!m->members[host].said_hello)
        say_hello(m, host);
    if (!m->members[host].said_hello)
        return;
    if (host == m->leader) {
        cse_host_message ready = { .kind = CSE_HOST_READY };
        cse_host_message known = { .kind = CSE_HOST_CUT_KNOWN };
        ready.ready.execution = m->begun ? m->execution.number : 0;
        known.cut_known.number = known_cut(m);
        if (ready.ready.execution > m->ready_sent && cse_members_send(m, host, &ready) == CSE_OK)
            m->ready_sent = ready.ready.execution;
        if (known.cut_known.number > m->cut_known_sent &&
            cse_members_send(m, host, &known) == CSE_OK)
            m->cut_known_sent = known.cut_known.number;
    }
    send_turn(m, host, now_ns);
}

void cse_members_tick(cse_members *m, int64_t now_ns)
{
    /* A host that slept heard nobody: that is not the others' silence. */
    const int64_t slept_ns = now_ns - m->ticked_ns - m->options.lease_ns / CSE_MEMBERS_BEATS;
    for (int h = 0; slept_ns > 0 && h < m->options.host_count; h++)
        m->members[h].heard_ns += slept_ns + m->options.lease_ns / CSE_MEMBERS_BEATS;
    m->ticked_ns = now_ns;
    if (!cse_members_leads(m) && cse_members_turn_to_lead(m) < CSE_TURN_LEADS)
        m->held_since_ns = 0;
    if (cse_members_leads(m) && m->end.kind == 0)
        cse_members_look_for_losses(m, now_ns);
    for (int h = 0; h < m->options.host_count; h++) {
        if (h == m->options.host || !m->members[h].connected)
            continue;
        if (cse_members_leads(m))
            lead(m, h, now_ns);
        else
            follow(m, h, now_ns);
    }
}
