/* A job's process: `csengine start`, or `csengine execute` with a program, in a session of its own,
 * with its output in its directory.
 *
 * It shares nothing with the server but its arguments, so that it survives the server. The memory
 * limit is set right after its start, before it has read its configuration, and its workers inherit
 * it. */
#include "dashboard/queue/jobs_launch.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dashboard/checks/job_limits.h"
#include "dashboard/checks/labels.h"
#include "dashboard/jobs/fork_source.h"
#include "dashboard/jobs/job_launcher.h"
#include "dashboard/jobs/jobs_origin.h"
#include "engine/base/arena.h"
#include "engine/base/beneath.h"
#include "engine/base/job_environment.h"
#include "engine/formats/checkpoint/checkpoint.h"

enum { MOST_ARGUMENTS = 896, MOST_LIMITS = 256 };
#define CONFIG_OF "%s/submitted.yaml" /* of a model_dir: the second argument of `start` */
#define FORK_CONFIG "--config="       /* before it: that of `fork` */

const char *cse_process_folder = "/proc";

typedef struct command {
    char *words[MOST_ARGUMENTS];
    int count;
} command;

static void add_word(command *c, const char *format, ...) CSE_PRINTF(2, 3);

static void add_word(command *c, const char *format, ...)
{
    va_list arguments;
    cse_text text = { 0 };
    char *word = NULL;
    va_start(arguments, format);
    int length = vasprintf(&word, format, arguments);
    va_end(arguments);
    cse_text_clear(&text);
    if (length >= 0 && c->count + 1 < MOST_ARGUMENTS)
        c->words[c->count++] = word;
    else
        free(word);
}

/* A value of the specification as --set takes it. */
static void add_override(command *c, const char *path, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    if (text != NULL) {
        add_word(c, "--set");
        add_word(c, "%s=%s", path, json_is_string(value) ? json_string_value(value) : text);
    }
    free(text);
}

/* As the configuration would have them: JSON is YAML. */
static void add_labels(command *c, const char *labels_text)
{
    json_t *labels = json_loads(labels_text, 0, NULL), *words = cse_labels_to_words(labels);
    char *text = json_dumps(words, JSON_COMPACT);
    if (json_array_size(words) > 0 && text != NULL)
        add_word(c, "--job_labels=%s", text);
    free(text);
    json_decref(words);
    json_decref(labels);
}

/* A later attempt goes on from its own newest checkpoint, whatever its configuration starts from.
 */
static bool has_checkpoint(const char *model_dir)
{
    int64_t *steps = NULL;
    int count = 0;
    bool has = cse_checkpoint_steps(model_dir, &steps, &count) == CSE_OK && count > 0;
    free(steps);
    return has;
}

/* What the server lets this job touch, in the job's own folder. */
static void add_place(const cse_jobs *jobs, const cse_job_entry *entry, command *c)
{
    c->count += cse_job_limits_words(jobs->options.confinement, c->words + c->count, MOST_LIMITS);
    add_word(c, "--model_dir=%s", entry->record.model_dir);
}

static void make_program_command(const cse_jobs *jobs, const cse_job_entry *entry,
                                 const json_t *spec, command *c)
{
    size_t i;
    const json_t *argument;
    add_word(c, "%s", jobs->executable);
    add_word(c, "execute");
    add_place(jobs, entry, c);
    add_word(c, "--");
    add_word(c, "%s", json_string_value(json_object_get(spec, "program")));
    json_array_foreach(json_object_get(spec, "arguments"), i, argument)
        add_word(c, "%s", json_string_value(argument));
}

/* A batch job of several nodes starts agents on other hosts. */
static void add_launcher(const cse_jobs *jobs, const cse_job_entry *entry, const json_t *spec,
                         command *c)
{
    const char *options = json_string_value(json_object_get(spec, "launcher_options"));
    add_place(jobs, entry, c);
    if (!cse_job_is_on_one_node(spec))
        add_word(c, "--allow_hosts");
    add_word(c, "--launcher=slurm");
    if (options != NULL)
        add_word(c, "--launcher_options=%s", options);
}

/* The store of a fork comes last: before that, it is made anew. */
static bool is_made(const char *model_dir)
{
    char path[CSE_JOB_PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/run.db", model_dir);
    return access(path, F_OK) == 0;
}

/* Checkpoints that a process had linked which was killed then. */
static void remove_unmade(const char *model_dir)
{
    char path[CSE_JOB_PATH_BYTES + 64];
    int64_t *steps = NULL;
    int count = 0;
    if (cse_checkpoint_steps(model_dir, &steps, &count) != CSE_OK)
        count = 0;
    for (int i = 0; i < count; i++) {
        cse_checkpoint_path(model_dir, steps[i], path, sizeof path);
        unlink(path);
    }
    free(steps);
}

/* `csengine fork` in place of `csengine start`: it makes the fork, then starts it. */
static cse_status add_fork(cse_jobs *jobs, const cse_job_entry *entry, const json_t *from,
                           command *c)
{
    char source[CSE_JOB_PATH_BYTES];
    const json_t *step = json_object_get(from, "step"), *sample;
    cse_text samples = { 0 };
    size_t i;
    CSE_TRY(cse_fork_source_find(jobs, from, NULL, source));
    remove_unmade(entry->record.model_dir);
    add_word(c, "fork");
    add_word(c, FORK_CONFIG CONFIG_OF, entry->record.model_dir);
    add_word(c, "%s", source);
    add_word(c, "--kept_states=0"); /* nothing is left in the other run's folder */
    if (step != NULL)
        add_word(c, "--at=%lld", (long long)json_integer_value(step));
    json_array_foreach(json_object_get(from, "without"), i, sample)
        cse_text_add(&samples, "%s%lld", i > 0 ? "," : "", (long long)json_integer_value(sample));
    if (samples.size > 0)
        add_word(c, "--without=%s", samples.data);
    cse_text_clear(&samples);
    return CSE_OK;
}

static cse_status make_start_command(cse_jobs *jobs, const cse_job_entry *entry, json_t *spec,
                                     command *c)
{
    json_t *value;
    const char *path;
    cse_status status = CSE_OK;
    const json_t *forked = json_object_get(spec, "fork_from");
    const bool forks = forked != NULL && !is_made(entry->record.model_dir);
    add_word(c, "%s", jobs->executable);
    if (forks) {
        CSE_TRY(add_fork(jobs, entry, forked, c));
    } else {
        add_word(c, "start");
        add_word(c, CONFIG_OF, entry->record.model_dir);
    }
    add_word(c, "--json");
    add_word(c, "--no_dashboard");
    json_object_foreach(json_object_get(spec, "overrides"), path, value)
        add_override(c, path, value);
    if (cse_job_is_batch(spec))
        add_launcher(jobs, entry, spec, c);
    else
        add_place(jobs, entry, c);
    add_labels(c, entry->record.labels);
    if (json_is_true(json_object_get(spec, "compile_only")))
        add_word(c, "--compile_only");
    if (json_is_true(json_object_get(spec, "validate_only")))
        add_word(c, "--validate_only");
    const json_t *from = json_object_get(spec, "resume_from");
    if (forks)
        return CSE_OK; /* it says itself what it goes on from */
    if (has_checkpoint(entry->record.model_dir)) {
        add_word(c, "--checkpoint_path=newest");
    } else if (from != NULL) {
        cse_text checkpoint = { 0 };
        status = cse_job_origin_find(jobs, from, false, &checkpoint);
        if (status == CSE_OK)
            add_word(c, "--checkpoint_path=%s", checkpoint.data);
        cse_text_clear(&checkpoint);
    }
    return status;
}

static cse_status make_command(cse_jobs *jobs, const cse_job_entry *entry, command *c)
{
    json_t *spec = json_loads(entry->record.spec, 0, NULL);
    cse_status status = CSE_OK;
    if (json_object_get(spec, "program") != NULL)
        make_program_command(jobs, entry, spec, c);
    else
        status = make_start_command(jobs, entry, spec, c);
    json_decref(spec);
    return status;
}

/* What a job gets of this process's environment, and the job's name; one allocation. */
static char **environment_of(const cse_confinement *confinement, const char *name_word)
{
    char **words = cse_job_environment_list(confinement);
    size_t kept = 0;
    for (size_t i = 0; words[i] != NULL; i++)
        if (strncmp(words[i], "CSENGINE_RUN_NAME=", 18) != 0)
            words[kept++] = words[i];
    words[kept] = (char *)(uintptr_t)name_word;
    words[kept + 1] = NULL;
    return words;
}

/* An earlier attempt of the job could have put a link there, which is removed. */
static cse_status open_log(const cse_job_entry *entry, int *output)
{
    char log[CSE_JOB_PATH_BYTES + 16];
    snprintf(log, sizeof log, "%s/start.log", entry->record.model_dir);
    for (int i = 0; i < 2; i++) {
        *output = cse_open_plain(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
        if (*output >= 0)
            return CSE_OK;
        if (errno == ELOOP)
            unlink(log);
    }
    return cse_fail(CSE_TEMPORARY, "%s: %s", log, strerror(errno));
}

static cse_status spawn(const cse_jobs *jobs, const cse_job_entry *entry, command *c, pid_t *pid)
{
    char name[CSE_JOB_NAME_BYTES + 32];
    snprintf(name, sizeof name, "CSENGINE_RUN_NAME=%s", entry->record.name);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    int output = -1;
    CSE_TRY(open_log(entry, &output));
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGINT);
    sigaddset(&usual, SIGTERM);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_adddup2(&actions, output, 2);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    char **environment = environment_of(jobs->options.confinement, name);
    int code = posix_spawn(pid, c->words[0], &actions, &attributes, c->words, environment);
    free(environment);
    close(output);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (code != 0)
        return cse_fail(CSE_TEMPORARY, "%s cannot be started: %s", c->words[0], strerror(code));
    return CSE_OK;
}

/* Each of its processes to what its request states; what was counted is no limit. */
static void limit_memory(const cse_job_entry *entry, pid_t pid)
{
    json_t *spec = json_loads(entry->record.spec, 0, NULL);
    const int64_t bytes =
        json_integer_value(json_object_get(json_object_get(spec, "resources"), "memory_bytes"));
    const struct rlimit limit = { (rlim_t)bytes, (rlim_t)bytes };
    json_decref(spec);
    if (bytes > 0)
        prlimit(pid, RLIMIT_DATA, &limit, NULL);
}

cse_status cse_job_launch(cse_jobs *jobs, cse_job_entry *entry)
{
    assert(!entry->alive && entry->descriptor < 0);
    command *c = cse_calloc(1, sizeof *c);
    cse_job_record *record = &entry->record;
    pid_t pid = 0;
    cse_status status = make_command(jobs, entry, c);
    if (status == CSE_OK)
        status = spawn(jobs, entry, c, &pid);
    for (int i = 0; i < c->count; i++)
        free(c->words[i]);
    free(c);
    CSE_TRY(status);
    limit_memory(entry, pid);
    record->pid = pid;
    record->pid_start = cse_process_start(pid);
    entry->descriptor = cse_process_descriptor(pid);
    entry->child = true;
    entry->alive = true;
    entry->settled = false;
    return CSE_OK;
}

enum { PARENT_FIELD = 4, SESSION_FIELD = 6, START_FIELD = 22 };

/* A number of /proc/PID/stat, fields counted from 1; 0: there is no such process. */
static int64_t process_field(int64_t pid, int wanted)
{
    char path[PATH_MAX], text[1024];
    snprintf(path, sizeof path, "%s/%lld/stat", cse_process_folder, (long long)pid);
    FILE *file = pid > 0 ? fopen(path, "re") : NULL;
    size_t size = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL)
        fclose(file);
    text[size] = '\0';
    /* Field 2 is the name, which may hold any character and ends with the last ')'. */
    const char *at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < wanted; field++) {
        at = strchr(at, ' ');
        at = at != NULL ? at + 1 : NULL;
    }
    return at != NULL ? strtoll(at, NULL, 10) : 0;
}

int64_t cse_process_start(int64_t pid)
{
    return process_field(pid, START_FIELD);
}

int64_t cse_process_parent(int64_t pid)
{
    return process_field(pid, PARENT_FIELD);
}

/* Whether its first arguments are those of make_command. */
static bool runs_config(int64_t pid, const char *config)
{
    char path[PATH_MAX], words[2 * CSE_JOB_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%lld/cmdline", cse_process_folder, (long long)pid);
    FILE *file = fopen(path, "re");
    const size_t size = file != NULL ? fread(words, 1, sizeof words - 1, file) : 0;
    if (file != NULL)
        fclose(file);
    words[size] = '\0';
    const char *second = words + strlen(words) + 1, *third = second + strlen(second) + 1;
    if (third >= words + size)
        return false;
    if (strcmp(second, "start") == 0)
        return strcmp(third, config) == 0;
    return strcmp(second, "fork") == 0 &&
           strncmp(third, FORK_CONFIG, sizeof FORK_CONFIG - 1) == 0 &&
           strcmp(third + sizeof FORK_CONFIG - 1, config) == 0;
}

/* It leads a session, which none of the processes does that it starts in its turn. */
int64_t cse_job_process_find(const cse_job_entry *entry)
{
    char config[CSE_JOB_PATH_BYTES + 32];
    int64_t found = 0;
    snprintf(config, sizeof config, CONFIG_OF, entry->record.model_dir);
    DIR *processes = opendir(cse_process_folder);
    for (struct dirent *e; processes != NULL && found == 0 && (e = readdir(processes)) != NULL;) {
        const int64_t pid = strtoll(e->d_name, NULL, 10);
        if (pid > 1 && runs_config(pid, config) && process_field(pid, SESSION_FIELD) == pid)
            found = pid;
    }
    if (processes != NULL)
        closedir(processes);
    return found;
}

int cse_process_descriptor(int64_t pid)
{
    return pid > 0 ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;
}

void cse_job_last_error(const cse_job_entry *entry, char *text, size_t size)
{
    enum { TAIL = 8192 };
    char path[CSE_JOB_PATH_BYTES + 16], tail[TAIL + 1];
    snprintf(path, sizeof path, "%s/start.log", entry->record.model_dir);
    text[0] = '\0';
    FILE *file = cse_open_plain_stream(path);
    if (file == NULL)
        return;
    if (fseek(file, -TAIL, SEEK_END) != 0)
        rewind(file);
    tail[fread(tail, 1, TAIL, file)] = '\0';
    fclose(file);
    static const char mark[] = "csengine: error: ";
    const char *last = NULL;
    for (const char *at = strstr(tail, mark); at != NULL; at = strstr(at + 1, mark))
        last = at + sizeof mark - 1;
    if (last != NULL)
        snprintf(text, size, "%.*s", (int)strcspn(last, "\n"), last);
}
