/* Files are opened once and read again from their beginning. Counters that run backwards (a disk
 * that was taken out) give no rate. */
#include "workers/control/host_sampler.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"

enum { TEXT_BYTES = 64 << 10, CLOCKS = 8, SENSORS = 16, NAME_BYTES = 64, SECTOR_BYTES = 512 };

typedef enum source { STAT, MEMINFO, DISKSTATS, NET_DEV, CPUINFO, SOURCES } source;

static const char *const source_paths[SOURCES] = { "/proc/stat", "/proc/meminfo", "/proc/diskstats",
                                                   "/proc/net/dev", "/proc/cpuinfo" };

/* What only grows. */
typedef struct counters {
    int cores; /* that told their times */
    int64_t busy[CSE_HOST_SAMPLE_CORES], all[CSE_HOST_SAMPLE_CORES];
    int64_t busy_sum, all_sum;
    bool disks, network;
    int64_t read_bytes, written_bytes, busy_ms; /* of the busiest disk */
    int64_t received_bytes, sent_bytes;
} counters;

struct cse_host_sampler {
    char root[512];
    int files[SOURCES], clocks[CLOCKS], sensors[SENSORS];
    int clock_count, sensor_count;
    counters before;
    int64_t looked_ns;
    json_t *sample;
    char text[TEXT_BYTES];
};

/* ---- files ---- */

static int open_below(const cse_host_sampler *s, const char *path)
{
    char whole[1024];
    snprintf(whole, sizeof whole, "%s%s", s->root, path);
    return open(whole, O_RDONLY | O_CLOEXEC);
}

/* False where there is nothing to be read. */
static bool read_text(cse_host_sampler *s, int file)
{
    const ssize_t got = file >= 0 ? pread(file, s->text, sizeof s->text - 1, 0) : -1;
    s->text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static void open_clocks(cse_host_sampler *s)
{
    for (int core = 0; core < CLOCKS; core++) {
        char path[128];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", core);
        const int file = open_below(s, path);
        if (file >= 0)
            s->clocks[s->clock_count++] = file;
    }
}

/* Those of the processor's own driver, else of the board's zones. */
static void open_sensors(cse_host_sampler *s)
{
    for (int pattern = 0; pattern < 2 && s->sensor_count == 0; pattern++)
        for (int device = 0; device < 16; device++)
            for (int sensor = 1; sensor <= (pattern == 0 ? 4 : 1); sensor++) {
                char path[128];
                if (pattern == 0)
                    snprintf(path, sizeof path, "/sys/class/hwmon/hwmon%d/temp%d_input", device,
                             sensor);
                else
                    snprintf(path, sizeof path, "/sys/class/thermal/thermal_zone%d/temp", device);
                const int file = s->sensor_count < SENSORS ? open_below(s, path) : -1;
                if (file >= 0)
                    s->sensors[s->sensor_count++] = file;
            }
}

cse_host_sampler *cse_host_sampler_new(const char *root)
{
    cse_host_sampler *s = cse_calloc(1, sizeof *s);
    snprintf(s->root, sizeof s->root, "%s", root);
    for (int f = 0; f < SOURCES; f++)
        s->files[f] = open_below(s, source_paths[f]);
    open_clocks(s);
    open_sensors(s);
    return s;
}

static void close_all(const int *files, int count)
{
    for (int i = 0; i < count; i++)
        if (files[i] >= 0)
            close(files[i]);
}

void cse_host_sampler_destroy(cse_host_sampler **sampler)
{
    cse_host_sampler *s = *sampler;
    if (s == NULL)
        return;
    close_all(s->files, SOURCES);
    close_all(s->clocks, s->clock_count);
    close_all(s->sensors, s->sensor_count);
    json_decref(s->sample);
    free(s);
    *sampler = NULL;
}

/* ---- counters ---- */

static char *next_line(char *line)
{
    char *end = strchr(line, '\n');
    if (end == NULL)
        return line + strlen(line);
    *end = '\0';
    return end + 1;
}

/* "cpu3 user nice system idle iowait irq softirq steal ..." */
static void count_cores(cse_host_sampler *s, counters *c)
{
    if (!read_text(s, s->files[STAT]))
        return;
    for (char *line = s->text, *next; strncmp(line, "cpu", 3) == 0; line = next) {
        long long t[8] = { 0 };
        int core = -1;
        next = next_line(line);
        if (line[3] < '0' || line[3] > '9')
            continue; /* the sum of all */
        if (sscanf(line, "cpu%d %lld %lld %lld %lld %lld %lld %lld %lld", &core, &t[0], &t[1],
                   &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) < 5)
            continue;
        int64_t all = 0;
        for (int i = 0; i < 8; i++)
            all += t[i];
        const int64_t busy = all - t[3] - t[4];
        if (c->cores < CSE_HOST_SAMPLE_CORES) {
            c->busy[c->cores] = busy;
            c->all[c->cores] = all;
        }
        c->cores++;
        c->busy_sum += busy;
        c->all_sum += all;
    }
}

/* Partitions begin with the name of the disk before them, and are in its counts; so is what is made
 * of disks. */
static bool is_disk(const char *name, const char *disk)
{
    static const char *const made[] = { "loop", "ram", "dm-", "md", "zram", "sr" };
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        if (strncmp(name, made[i], strlen(made[i])) == 0)
            return false;
    return disk[0] == '\0' || strncmp(name, disk, strlen(disk)) != 0;
}

/* "major minor name reads merged sectors ms writes merged sectors ms in-flight ms ..." */
static void count_disks(cse_host_sampler *s, counters *c)
{
    char disk[NAME_BYTES] = "", name[NAME_BYTES];
    if (!read_text(s, s->files[DISKSTATS]))
        return;
    for (char *line = s->text, *next; *line != '\0'; line = next) {
        long long read = 0, written = 0, busy = 0;
        next = next_line(line);
        if (sscanf(line, " %*d %*d %63s %*d %*d %lld %*d %*d %*d %lld %*d %*d %lld", name, &read,
                   &written, &busy) < 4 ||
            !is_disk(name, disk))
            continue;
        memcpy(disk, name, sizeof disk);
        c->disks = true;
        c->read_bytes += read * SECTOR_BYTES;
        c->written_bytes += written * SECTOR_BYTES;
        c->busy_ms = busy > c->busy_ms ? busy : c->busy_ms;
    }
}

/* What passes through another one of the host's own, or stays in it, is not counted. */
static bool is_wire(const char *name)
{
    static const char *const inner[] = {
        "lo", "veth", "docker", "br-", "virbr", "ifb", "tun", "tap"
    };
    for (size_t i = 0; i < sizeof inner / sizeof inner[0]; i++)
        if (strncmp(name, inner[i], strlen(inner[i])) == 0)
            return false;
    return true;
}

/* "eth0: bytes packets errs drop fifo frame compressed multicast bytes ..." */
static void count_network(cse_host_sampler *s, counters *c)
{
    char name[NAME_BYTES];
    if (!read_text(s, s->files[NET_DEV]))
        return;
    for (char *line = s->text, *next; *line != '\0'; line = next) {
        long long received = 0, sent = 0;
        next = next_line(line);
        if (sscanf(line, " %63[^: ]: %lld %*d %*d %*d %*d %*d %*d %*d %lld", name, &received,
                   &sent) < 3 ||
            !is_wire(name))
            continue;
        c->network = true;
        c->received_bytes += received;
        c->sent_bytes += sent;
    }
}

/* ---- the sample ---- */

static void set_rate(json_t *sample, const char *name, int64_t before, int64_t now, double seconds)
{
    if (now >= before && seconds > 0)
        json_object_set_new(sample, name, json_real((double)(now - before) * 1e-6 / seconds));
}

static double share_of(int64_t part, int64_t whole)
{
    const double share = whole > 0 ? (double)part / (double)whole : 0;
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

static bool add_cores(json_t *sample, const counters *before, const counters *now)
{
    if (now->cores == 0 || now->cores != before->cores || now->all_sum <= before->all_sum)
        return false;
    json_object_set_new(
        sample, "busy",
        json_real(share_of(now->busy_sum - before->busy_sum, now->all_sum - before->all_sum)));
    if (now->cores > CSE_HOST_SAMPLE_CORES)
        return true;
    json_t *cores = json_array();
    for (int i = 0; i < now->cores; i++)
        json_array_append_new(cores, json_real(share_of(now->busy[i] - before->busy[i],
                                                        now->all[i] - before->all[i])));
    json_object_set_new(sample, "cores", cores);
    return true;
}

static void set_clock(json_t *sample, double sum, double least, int count)
{
    json_object_set_new(sample, "clock_mhz", json_real(sum / count));
    json_object_set_new(sample, "clock_least_mhz", json_real(least));
}

static bool add_clock(cse_host_sampler *s, json_t *sample)
{
    double sum = 0, least = 0;
    int count = 0;
    for (int i = 0; i < s->clock_count; i++) {
        const double mhz = read_text(s, s->clocks[i]) ? strtod(s->text, NULL) / 1000 : 0;
        if (mhz <= 0)
            continue;
        least = count == 0 || mhz < least ? mhz : least;
        sum += mhz;
        count++;
    }
    if (count == 0 && read_text(s, s->files[CPUINFO]))
        for (char *at = s->text; (at = strstr(at, "\ncpu MHz")) != NULL && count < CLOCKS;) {
            const char *colon = strchr(++at, ':');
            const double mhz = colon != NULL ? strtod(colon + 1, NULL) : 0;
            if (mhz <= 0)
                continue;
            least = count == 0 || mhz < least ? mhz : least;
            sum += mhz;
            count++;
        }
    if (count > 0)
        set_clock(sample, sum, least, count);
    return count > 0;
}

static int64_t kilobytes(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at != NULL ? strtoll(at + strlen(name), NULL, 10) * 1024 : 0;
}

static bool add_memory(cse_host_sampler *s, json_t *sample)
{
    if (!read_text(s, s->files[MEMINFO]))
        return false;
    const int64_t all = kilobytes(s->text, "MemTotal:");
    const int64_t free_bytes = kilobytes(s->text, "MemAvailable:");
    if (all <= 0 || free_bytes <= 0)
        return false;
    json_object_set_new(sample, "memory_bytes", json_integer(all));
    json_object_set_new(sample, "memory_free_bytes", json_integer(free_bytes));
    return true;
}

/* The hottest, in degrees; what no sensor can mean is not believed. */
static bool add_temperature(cse_host_sampler *s, json_t *sample)
{
    double most = 0;
    for (int i = 0; i < s->sensor_count; i++) {
        const double celsius = read_text(s, s->sensors[i]) ? strtod(s->text, NULL) / 1000 : 0;
        if (celsius > most && celsius < 150)
            most = celsius;
    }
    if (most > 0)
        json_object_set_new(sample, "temperature_celsius", json_real(most));
    return most > 0;
}

static bool add_disks(json_t *sample, const counters *before, const counters *now, double seconds)
{
    if (!now->disks)
        return false;
    set_rate(sample, "disk_read_mb_per_second", before->read_bytes, now->read_bytes, seconds);
    set_rate(sample, "disk_written_mb_per_second", before->written_bytes, now->written_bytes,
             seconds);
    if (now->busy_ms >= before->busy_ms)
        json_object_set_new(
            sample, "disk_busy",
            json_real(share_of(now->busy_ms - before->busy_ms, (int64_t)(seconds * 1e3))));
    return true;
}

static bool add_network(json_t *sample, const counters *before, const counters *now, double seconds)
{
    if (!now->network)
        return false;
    set_rate(sample, "network_received_mb_per_second", before->received_bytes, now->received_bytes,
             seconds);
    set_rate(sample, "network_sent_mb_per_second", before->sent_bytes, now->sent_bytes, seconds);
    return true;
}

static json_t *make_sample(cse_host_sampler *s, const counters *now, int64_t elapsed_ns)
{
    const double seconds = (double)elapsed_ns * 1e-9;
    const counters *before = &s->before;
    json_t *sample = json_pack("{s:I}", "interval_ms", (json_int_t)(elapsed_ns / 1000000));
    json_t *missing = json_array();
    const struct {
        const char *name;
        bool there;
    } parts[] = {
        { "cores", add_cores(sample, before, now) },
        { "clock", add_clock(s, sample) },
        { "memory", add_memory(s, sample) },
        { "disk", add_disks(sample, before, now, seconds) },
        { "network", add_network(sample, before, now, seconds) },
        { "temperature", add_temperature(s, sample) },
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!parts[i].there)
            json_array_append_new(missing, json_string(parts[i].name));
    json_object_set_new(sample, "not_readable", missing);
    return sample;
}

json_t *cse_host_sampler_take(cse_host_sampler *s, int64_t now_ns, bool *fresh)
{
    const int64_t elapsed_ns = now_ns - s->looked_ns;
    *fresh = false;
    if (s->looked_ns != 0 && elapsed_ns < CSE_HOST_SAMPLE_NS)
        return s->sample;
    counters now = { .cores = 0 };
    count_cores(s, &now);
    count_disks(s, &now);
    count_network(s, &now);
    if (s->looked_ns != 0) {
        json_decref(s->sample);
        s->sample = make_sample(s, &now, elapsed_ns);
        *fresh = true;
    }
    s->before = now;
    s->looked_ns = now_ns;
    return s->sample;
}
