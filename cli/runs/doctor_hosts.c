/* What is found is judged against the other hosts: most of them say what is usual. */
#include "cli/runs/doctor_hosts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments/command_line.h"
#include "cli/arguments/option_values.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "cli/terminal/stop_signal.h"
#include "cli/terminal/table.h"
#include "engine/base/arena.h"
#include "run/hosts/probed_hosts.h"

#define SLOW_BYTES_PER_S 12.5e6 /* 100 Mbit/s */
#define SLOW_SHARE 0.4          /* of the median link */
#define FAR_S 5e-3              /* a round trip between machines that are not in one place */
#define LATE_S 50e-3
#define CLOCK_S 0.1
#define LITTLE_MEMORY (INT64_C(1) << 30)

typedef enum verdict { WARN, FAIL } verdict;

/* What a finding is of; `to` -1: of one host. */
typedef struct subject {
    verdict verdict;
    int from, to;
} subject;

typedef struct doctor {
    cse_host_list list;
    cse_probed_hosts probed;
    const char *launcher;
    json_t *findings;
    bool failed, unreachable;
} doctor;

static const cse_probed *pair_of(const doctor *d, int from, int to)
{
    return &d->probed.pairs[from * d->probed.count + to];
}

/* ---- findings ---- */

static void find(doctor *d, subject of, const char *fix, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void find(doctor *d, subject of, const char *fix, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    d->failed = d->failed || of.verdict == FAIL;
    json_array_append_new(d->findings, json_pack("{s:s, s:s, s:s*, s:s, s:s}", "verdict",
                                                 of.verdict == FAIL ? "fail" : "warn", "host",
                                                 d->probed.names[of.from], "peer",
                                                 of.to >= 0 ? d->probed.names[of.to] : NULL,
                                                 "found", text, "fix", fix));
}

static void judge_start(doctor *d, int host)
{
    char fix[256];
    if (d->probed.hosts[host].why == NULL)
        return;
    const char *ssh = strcmp(d->launcher, "ssh") == 0 ? "`ssh -o BatchMode=yes HOST true` has to "
                                                        "work, and this program to stand there "
                                                        "at the same path"
                                                      : "this program has to stand there at the "
                                                        "same path";
    snprintf(fix, sizeof fix, "the launcher %s has to reach it: %s", d->launcher, ssh);
    d->unreachable = true;
    find(d, (subject){ FAIL, host, -1 }, fix, "it cannot take part: %s", d->probed.hosts[host].why);
}

/* The value that most hosts have, the earliest of several; NULL: no host has one. */
static const char *usual(const doctor *d, const char *name)
{
    const char *best = NULL;
    int most = 0;
    for (int h = 0; h < d->probed.count; h++) {
        const char *value = cse_json_text(d->probed.hosts[h].facts, name, NULL);
        int count = 0;
        for (int o = 0; value != NULL && o < d->probed.count; o++) {
            const char *other = cse_json_text(d->probed.hosts[o].facts, name, NULL);
            count += other != NULL && strcmp(value, other) == 0;
        }
        if (count > most) {
            most = count;
            best = value;
        }
    }
    return best;
}

static const struct {
    const char *name, *text, *fix;
} compared[] = {
    { "version", "its version is", "install the same version on all hosts" },
    { "build", "its build is", "install the same build on all hosts: copy the installed files" },
    { "instruction_set", "its instruction set is",
      "leave it out, or give all hosts the lower one by the environment variable CSE_ISA, or set "
      "deterministic: portable" },
    { "kernels", "the digest of its kernels' self-test is",
      "use the same C library and settings on all hosts, or set deterministic: portable" },
};

static void judge_kinds(doctor *d, int host)
{
    for (size_t i = 0; i < sizeof compared / sizeof compared[0]; i++) {
        const char *value = cse_json_text(d->probed.hosts[host].facts, compared[i].name, NULL);
        const char *others = usual(d, compared[i].name);
        if (value == NULL || strcmp(value, others) == 0)
            continue;
        find(d, (subject){ FAIL, host, -1 }, compared[i].fix, "%s %.16s, that of most hosts %.16s",
             compared[i].text, value, others);
    }
}

static void judge_room(doctor *d, int host)
{
    const json_t *facts = d->probed.hosts[host].facts;
    if (facts == NULL)
        return;
    const int64_t room = cse_json_whole(facts, "memory_free_bytes", INT64_MAX);
    const double cores = cse_json_real(facts, "free_cores", 1);
    if (room < LITTLE_MEMORY)
        find(d, (subject){ WARN, host, -1 }, "end what else runs there, or leave the host out",
             "only %.0f MiB of memory are free", (double)room / (1 << 20));
    if (cores < 0.5)
        find(d, (subject){ WARN, host, -1 },
             "a run is as fast as its slowest host: end what else runs there, or leave it out",
             "no core is free: its load is as high as its number of cores");
}

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of all pairs; 0: none was measured. */
static double median(const doctor *d, const char *name)
{
    const int all = d->probed.count * d->probed.count;
    double *values = cse_calloc((size_t)all, sizeof *values);
    int count = 0;
    for (int i = 0; i < all; i++)
        if (d->probed.pairs[i].facts != NULL)
            values[count++] = cse_json_real(d->probed.pairs[i].facts, name, 0);
    qsort(values, (size_t)count, sizeof *values, compare_numbers);
    const double middle = count > 0 ? values[count / 2] : 0;
    free(values);
    return middle;
}

static void judge_link(doctor *d, int from, int to, double usual_rate)
{
    const cse_probed *pair = pair_of(d, from, to);
    char fix[256];
    if (pair->why != NULL) {
        d->unreachable = true;
        find(d, (subject){ FAIL, from, to },
             "the two ports of each host have to be open to the others: host_port makes them known "
             "to a firewall",
             "no link: %s", pair->why);
        return;
    }
    if (pair->facts == NULL)
        return;
    const double rate = cse_json_real(pair->facts, "bytes_per_s", 0);
    const double trip = cse_json_real(pair->facts, "latency_s", 0);
    const double late = cse_json_real(pair->facts, "latency_p99_s", 0);
    if (rate < SLOW_BYTES_PER_S || rate < SLOW_SHARE * usual_rate) {
        snprintf(fix, sizeof fix,
                 "`csengine plan CONFIG.yaml --hosts %d --link %.3gM` says what that costs; look "
                 "at the cable, the speed that the port has, and what else uses it",
                 d->probed.count, 8e-6 * rate);
        find(d, (subject){ WARN, from, to }, fix,
             "slow link: %.3g MB/s, the middle one of all has %.3g MB/s", 1e-6 * rate,
             1e-6 * usual_rate);
    }
    if (trip > FAR_S)
        find(d, (subject){ WARN, from, to },
             "choose hosts of one place, or fewer steps of larger batches",
             "far away: a round trip takes %.3g ms", 1e3 * trip);
    if (late > LATE_S && late > 10 * trip)
        find(d, (subject){ WARN, from, to },
             "look for lost packets and for other programs on both hosts",
             "unsteady: one of a hundred round trips takes %.3g ms, the middle one %.3g ms",
             1e3 * late, 1e3 * trip);
}

/* Clocks are compared once for a pair. */
static void judge_clocks(doctor *d, int from, int to)
{
    const json_t *facts = pair_of(d, from, to)->facts;
    const double offset = cse_json_real(facts, "clock_offset_s", 0);
    const double error = cse_json_real(facts, "clock_error_s", 0);
    if (facts == NULL || from > to || fabs(offset) <= CLOCK_S + error)
        return;
    find(d, (subject){ WARN, from, to },
         "run an NTP client (chrony) on both; no result depends on it, but the times of logs do",
         "the clock of %s is %.3g s %s that of %s", d->probed.names[to], fabs(offset),
         offset > 0 ? "before" : "behind", d->probed.names[from]);
}

static void judge(doctor *d)
{
    const double usual_rate = median(d, "bytes_per_s");
    for (int h = 0; h < d->probed.count; h++) {
        judge_start(d, h);
        judge_kinds(d, h);
        judge_room(d, h);
    }
    for (int from = 0; from < d->probed.count; from++)
        for (int to = 0; to < d->probed.count; to++) {
            judge_link(d, from, to, usual_rate);
            judge_clocks(d, from, to);
        }
}

/* ---- output ---- */

static void print_hosts(const doctor *d)
{
    static const char *const heads[] = { "host",        "hostname",  "version",    "build",
                                         "processor",   "self-test", "free cores", "of",
                                         "free memory", NULL };
    cse_table *table = cse_table_new(heads);
    for (int h = 0; h < d->probed.count; h++) {
        const json_t *facts = d->probed.hosts[h].facts;
        cse_table_add(table, "%s", d->probed.names[h]);
        cse_table_add(table, "%s", cse_json_text(facts, "hostname", "-"));
        cse_table_add(table, "%s", cse_json_text(facts, "version", "-"));
        cse_table_add(table, "%.8s", cse_json_text(facts, "build", "-"));
        cse_table_add(table, "%s", cse_json_text(facts, "instruction_set", "-"));
        cse_table_add(table, "%.8s", cse_json_text(facts, "kernels", "-"));
        if (facts != NULL) {
            cse_table_add(table, "%.1f", cse_json_real(facts, "free_cores", 0));
            cse_table_add(table, "%d", (int)cse_json_whole(facts, "cores", 0));
            cse_table_add(table, "%.1f GiB",
                          cse_json_real(facts, "memory_free_bytes", 0) / (1 << 30));
        } else {
            for (int i = 0; i < 3; i++)
                cse_table_add(table, "-");
        }
    }
    cse_table_print(table, stdout);
    cse_table_destroy(&table);
}

static void print_pairs(const doctor *d)
{
    static const char *const heads[] = { "from",        "to",        "round trip us",
                                         "p99 us",      "MB/s",      "clock ms",
                                         "+- clock ms", "drift ppm", NULL };
    cse_table *table = cse_table_new(heads);
    for (int from = 0; from < d->probed.count; from++)
        for (int to = 0; to < d->probed.count; to++) {
            const json_t *facts = pair_of(d, from, to)->facts;
            const json_t *drift = json_object_get(facts, "clock_drift_ppm");
            if (from == to)
                continue;
            cse_table_add(table, "%s", d->probed.names[from]);
            cse_table_add(table, "%s", d->probed.names[to]);
            if (facts == NULL) {
                for (int i = 0; i < 6; i++)
                    cse_table_add(table, "-");
                continue;
            }
            cse_table_add(table, "%.0f", 1e6 * cse_json_real(facts, "latency_s", 0));
            cse_table_add(table, "%.0f", 1e6 * cse_json_real(facts, "latency_p99_s", 0));
            cse_table_add(table, "%.4g", 1e-6 * cse_json_real(facts, "bytes_per_s", 0));
            cse_table_add(table, "%.3f", 1e3 * cse_json_real(facts, "clock_offset_s", 0));
            cse_table_add(table, "%.3f", 1e3 * cse_json_real(facts, "clock_error_s", 0));
            cse_table_add(table, json_is_number(drift) ? "%.0f" : "-", json_number_value(drift));
        }
    cse_table_print(table, stdout);
    cse_table_destroy(&table);
}

static void print_findings(const doctor *d)
{
    size_t i;
    json_t *f;
    json_array_foreach(d->findings, i, f)
    {
        const char *peer = cse_json_text(f, "peer", NULL);
        cse_print("%s  %s%s%s: %s; fix: %s\n", cse_json_text(f, "verdict", ""),
                  cse_json_text(f, "host", ""), peer != NULL ? " to " : "",
                  peer != NULL ? peer : "", cse_json_text(f, "found", ""),
                  cse_json_text(f, "fix", ""));
    }
    if (i == 0)
        printf("pass  %d hosts can run one job together\n", d->probed.count);
}

static json_t *probed_json(const cse_probed *probed)
{
    json_t *object = probed->facts != NULL ? json_copy(probed->facts) : json_object();
    json_object_del(object, "peer");
    if (probed->why != NULL)
        json_object_set_new(object, "error", json_string(probed->why));
    return object;
}

static void print_json(const doctor *d)
{
    json_t *hosts = json_array(), *pairs = json_array();
    for (int h = 0; h < d->probed.count; h++) {
        json_t *host = probed_json(&d->probed.hosts[h]);
        json_object_set_new(host, "host", json_string(d->probed.names[h]));
        json_array_append_new(hosts, host);
        for (int to = 0; to < d->probed.count; to++) {
            if (to == h)
                continue;
            json_t *pair = probed_json(pair_of(d, h, to));
            json_object_set_new(pair, "from", json_string(d->probed.names[h]));
            json_object_set_new(pair, "to", json_string(d->probed.names[to]));
            json_array_append_new(pairs, pair);
        }
    }
    json_t *object =
        json_pack("{s:o, s:o, s:O}", "hosts", hosts, "pairs", pairs, "findings", d->findings);
    cse_json_print(object);
    json_decref(object);
}

/* ---- options ---- */

static cse_status read_hosts(doctor *d, const char *given)
{
    const char *variable = NULL;
    cse_status status = CSE_OK;
    if (strcmp(given, "auto") != 0)
        status = cse_host_list_parse(given, "--hosts", &d->list);
    else
        status = cse_host_list_environment(getenv, &d->list, &variable);
    CSE_TRY(status);
    if (d->list.count == 0)
        return cse_fail(CSE_CONFIG, "doctor: --hosts auto: this process is in no job of Slurm, "
                                    "PBS, LSF or Open MPI; name the hosts: --hosts a,b");
    return CSE_OK;
}

static cse_status probe(const cse_command_line *line, doctor *d)
{
    static const int64_t ports[] = { 1, 65000 };
    int64_t port = 0;
    const char *name = cse_option_value(line, "host_launcher");
    cse_probing probing = { .list = &d->list,
                            .launcher_options = cse_option_value(line, "host_launcher_options"),
                            .stops = cse_stop_signal_came };
    CSE_TRY(cse_option_integer(line, "host_port", ports, &port));
    probing.port = (int)port;
    CSE_TRY(read_hosts(d, cse_option_value(line, "hosts")));
    CSE_TRY(cse_host_launcher_select(name != NULL ? name : cse_host_launcher_default(),
                                     &probing.launcher));
    d->launcher = probing.launcher->name;
    cse_stop_signal_note();
    return cse_probe_hosts(&probing, &d->probed);
}

int cse_doctor_hosts(const cse_command_line *line)
{
    doctor d = { .findings = json_array() };
    cse_status status = probe(line, &d);
    if (status == CSE_OK) {
        judge(&d);
        if (cse_option_is_on(line, "json")) {
            print_json(&d);
        } else {
            print_hosts(&d);
            putchar('\n');
            print_pairs(&d);
            putchar('\n');
            print_findings(&d);
        }
    }
    const int code = status != CSE_OK ? cse_report(status)
                     : d.unreachable  ? cse_status_exit_code(CSE_UNAVAILABLE)
                     : d.failed       ? 1
                                      : 0;
    cse_probed_hosts_clear(&d.probed);
    json_decref(d.findings);
    return code;
}
