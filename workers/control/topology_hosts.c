/* Rates are of the time since the report before. */
#include "workers/control/topology_hosts.h"

#include "workers/arena/layout.h"

static cse_host_traffic sum(cse_host_traffic a, const cse_host_traffic *b)
{
    a.frames_sent += b->frames_sent;
    a.frames_received += b->frames_received;
    a.bytes_sent += b->bytes_sent;
    a.bytes_received += b->bytes_received;
    a.connections += b->connections;
    a.refused += b->refused;
    a.retransmits += b->retransmits;
    return a;
}

static json_t *link_of(json_t *to, int others, const cse_host_traffic *now,
                       const cse_host_traffic *before, int64_t elapsed_ns)
{
    const double seconds = elapsed_ns > 0 ? 1e-9 * (double)elapsed_ns : 1;
    const int64_t frames =
        now->frames_sent + now->frames_received - before->frames_sent - before->frames_received;
    const int64_t again = now->connections - others;
    return json_pack(
        "{s:o, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:I}", "host", to, "frames_per_second",
        (double)frames / seconds, "mb_sent_per_second",
        1e-6 * (double)(now->bytes_sent - before->bytes_sent) / seconds, "mb_received_per_second",
        1e-6 * (double)(now->bytes_received - before->bytes_received) / seconds, "bytes_sent",
        (json_int_t)now->bytes_sent, "bytes_received", (json_int_t)now->bytes_received,
        "reconnects", (json_int_t)(again > 0 ? again : 0), "retransmits",
        (json_int_t)now->retransmits, "refused", (json_int_t)now->refused);
}

void cse_topology_add_host(json_t *report, const cse_cluster *cluster, int64_t elapsed_ns,
                           cse_topology_hosts *before)
{
    const cse_arena_head *head = cluster->head;
    cse_host_traffic all_now = { 0 }, all_before = { 0 };
    if (cluster->hosts == NULL || head->host_count < 2)
        return;
    json_t *links = json_array();
    for (int h = 0; h < head->host_count; h++) {
        const cse_host_traffic now = cse_cluster_traffic(cluster, h);
        if (h == head->host)
            continue;
        if (head->host_count <= CSE_TOPOLOGY_LINKS)
            json_array_append_new(
                links, link_of(json_integer(h), 1, &now, &before->traffic[h], elapsed_ns));
        all_now = sum(all_now, &now);
        all_before = sum(all_before, &before->traffic[h]);
        before->traffic[h] = now;
    }
    if (head->host_count > CSE_TOPOLOGY_LINKS)
        json_array_append_new(
            links, link_of(json_null(), head->host_count - 1, &all_now, &all_before, elapsed_ns));
    const int64_t exposed_ns = cse_cluster_exposed_ns(cluster);
    const double share =
        elapsed_ns > 0 ? (double)(exposed_ns - before->exposed_ns) / (double)elapsed_ns : 0;
    before->exposed_ns = exposed_ns;
    json_object_set_new(report, "host",
                        json_pack("{s:i, s:f, s:o}", "number", (int)head->host, "exposed",
                                  share < 0   ? 0
                                  : share > 1 ? 1
                                              : share,
                                  "links", links));
}
