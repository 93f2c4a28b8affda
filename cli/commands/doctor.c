/* `csengine doctor`: checks whether this machine can run jobs; suggests a fix for each problem.
 * Several hosts: doctor_hosts.h. */
#include <dnnl.h>
#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zmq.h>

#include "cli/arguments/command_line.h"
#include "cli/runs/doctor_hosts.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "engine/base/machine.h"
#include "engine/base/memory_limit.h"
#include "engine/base/resource_limits.h"
#include "engine/base/sandbox.h"
#include "engine/base/text.h"

/* A run of a small model takes less. */
#define LEAST_MEMORY_BYTES (INT64_C(256) << 20)

typedef enum verdict { PASS, WARN, FAIL } verdict;

typedef struct finding {
    verdict verdict;
    cse_text text;
    const char *fix; /* unless PASS */
} finding;

static void find_isa(const cse_command_line *line, finding *f)
{
    (void)line;
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool avx512 = __builtin_cpu_supports("avx512f"), avx2 = __builtin_cpu_supports("avx2");
    bool fma = __builtin_cpu_supports("fma"), bf16 = __builtin_cpu_supports("avx512bf16");
    cse_text_add(&f->text, "%s%s%s",
                 avx512 ? "AVX-512"
                 : avx2 ? "AVX2"
                        : "SSE2",
                 fma ? ", FMA" : "", bf16 ? ", bfloat16 products" : "");
    if (!avx2 || !fma) {
        f->verdict = WARN;
        f->fix = "a processor with AVX2 and FMA is several times faster";
    }
#else
    cse_text_add(&f->text, "not x86-64");
    f->verdict = WARN;
    f->fix = "speed was measured on x86-64 only; results are the same elsewhere";
#endif
}

static void find_cores(const cse_command_line *line, finding *f)
{
    (void)line;
    const cse_machine m = cse_machine_look();
    cse_text_add(&f->text, "%d allowed of %ld", m.cores, m.all_cores);
    if (m.quota_cores > 0)
        cse_text_add(&f->text, ", the cgroup's CPU quota allows %.1f", m.quota_cores);
    if (m.cores < 2 || (m.quota_cores > 0 && m.quota_cores < 2)) {
        f->verdict = WARN;
        f->fix = "with one core, num_csx above 1 gives the same bits but no speed";
    }
}

static bool is_in_path(const char *program)
{
    const char *path = getenv("PATH");
    char *copy = strdup(path != NULL ? path : ""), *rest = copy;
    bool found = false;
    for (char *directory = strsep(&rest, ":"); directory != NULL && !found;
         directory = strsep(&rest, ":")) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", directory, program);
        found = access(file, X_OK) == 0;
    }
    free(copy);
    return found;
}

static void find_compiler(const cse_command_line *line, finding *f)
{
    (void)line;
    static const char *const names[] = { "cc", "gcc", "clang" };
    for (int i = 0; i < 3; i++)
        if (is_in_path(names[i])) {
            cse_text_add(&f->text, "%s", names[i]);
            return;
        }
    cse_text_add(&f->text, "none: steps run in the interpreter, much slower");
    f->verdict = WARN;
    f->fix = "apt-get install gcc libc6-dev";
}

static void find_shared_memory(const cse_command_line *line, finding *f)
{
    (void)line;
    int descriptor = memfd_create("csengine-doctor", MFD_CLOEXEC);
    bool usable = descriptor >= 0 && ftruncate(descriptor, 1 << 20) == 0;
    if (descriptor >= 0)
        close(descriptor);
    struct statvfs status;
    double free_mib = statvfs("/dev/shm", &status) == 0
                          ? (double)status.f_bavail * (double)status.f_frsize / (1 << 20)
                          : 0;
    cse_text_add(&f->text, "memfd %s, /dev/shm has %.0f MiB free", usable ? "works" : "fails",
                 free_mib);
    if (!usable) {
        f->verdict = FAIL;
        f->fix = "replicas share memory by memfd_create: use Linux 3.17 or later, and allow it in "
                 "the container's seccomp profile";
    } else if (free_mib < 64) {
        f->verdict = WARN;
        f->fix = "give the container more shared memory (--shm-size=1g)";
    }
}

static void find_memory(const cse_command_line *line, finding *f)
{
    (void)line;
    const cse_memory_limit limit = cse_memory_limit_look();
    const bool of_cgroup = limit.file[0] != '\0';
    cse_text_add(&f->text, "%lld MiB, %lld free, %lld of swap%s%s", (long long)(limit.bytes >> 20),
                 (long long)(limit.free_bytes >> 20), (long long)(limit.swap_bytes >> 20),
                 of_cgroup ? ", by " : "", limit.file);
    if (limit.bytes > 0 && limit.free_bytes < LEAST_MEMORY_BYTES) {
        f->verdict = WARN;
        f->fix = of_cgroup ? "raise the cgroup's limit (MemoryMax=, --memory of a container)"
                           : "end other programs";
    }
}

static void find_limits(const cse_command_line *line, finding *f)
{
    (void)line;
    char text[1024];
    const bool enough = cse_resource_limits_describe(text, sizeof text);
    cse_text_add(&f->text, "%s", text);
    if (!enough) {
        f->verdict = WARN;
        f->fix = "`csengine start` says what it needs; ulimit -n 4096 and unlimited sizes will do "
                 "for most runs";
    }
}

/* The directory itself, or its nearest existing parent. */
static void existing_directory(const char *wanted, char *directory, size_t size)
{
    snprintf(directory, size, "%s", wanted);
    struct stat status;
    while (stat(directory, &status) != 0) {
        char *slash = strrchr(directory, '/');
        if (slash == NULL || slash == directory) {
            snprintf(directory, size, "%s", slash == NULL ? "." : "/");
            return;
        }
        *slash = '\0';
    }
}

/* Tries what writing a checkpoint needs: write, fsync, rename, fsync of the directory. */
static bool try_directory(const char *directory, const char **failed)
{
    char before[4200], after[4200];
    snprintf(before, sizeof before, "%s/.csengine-doctor-%ld.tmp", directory, (long)getpid());
    snprintf(after, sizeof after, "%s/.csengine-doctor-%ld", directory, (long)getpid());
    int file = open(before, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    int parent = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *failed = NULL;
    if (file < 0)
        *failed = "create";
    else if (write(file, "x", 1) != 1)
        *failed = "write";
    else if (fsync(file) != 0)
        *failed = "fsync";
    else if (rename(before, after) != 0)
        *failed = "rename";
    else if (parent < 0 || fsync(parent) != 0)
        *failed = "fsync of the directory";
    int saved = errno;
    if (file >= 0)
        close(file);
    if (parent >= 0)
        close(parent);
    unlink(before);
    unlink(after);
    errno = saved;
    return *failed == NULL;
}

static void find_model_dir(const cse_command_line *line, finding *f)
{
    const char *wanted = cse_option_value(line, "model_dir"), *failed = NULL;
    char directory[4096];
    existing_directory(wanted != NULL ? wanted : "./model_dir", directory, sizeof directory);
    if (try_directory(directory, &failed)) {
        cse_text_add(&f->text, "%s: write, fsync and rename work", directory);
        return;
    }
    cse_text_add(&f->text, "%s: %s fails: %s", directory, failed, strerror(errno));
    f->verdict = FAIL;
    f->fix = "choose another directory by --model_dir, or make this one writable";
}

static void find_hdf5(const cse_command_line *line, finding *f)
{
    (void)line;
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    cse_text_add(&f->text, "%u.%u.%u", major, minor, release);
}

static void find_zeromq(const cse_command_line *line, finding *f)
{
    (void)line;
    int major = 0, minor = 0, patch = 0;
    zmq_version(&major, &minor, &patch);
    cse_text_add(&f->text, "%d.%d.%d%s", major, minor, patch,
                 zmq_has("ipc") ? "" : ", without ipc");
    if (!zmq_has("ipc")) {
        f->verdict = FAIL;
        f->fix = "install a ZeroMQ with ipc:// (Debian's libzmq5)";
    }
}

static void find_onednn(const cse_command_line *line, finding *f)
{
    (void)line;
    const dnnl_version_t *version = dnnl_version();
    cse_text_add(&f->text, "%d.%d.%d", version->major, version->minor, version->patch);
}

static void find_confinement(const cse_command_line *line, finding *f)
{
    (void)line;
    const cse_sandbox_figures there = cse_sandbox_available();
    cse_text_add(&f->text, "jobs of csengine serve: ");
    cse_sandbox_describe(&f->text);
    if (there.landlock > 0 && there.system_calls)
        return;
    f->verdict = WARN;
    f->fix = "Linux 5.13 or later, with landlock in the boot parameter lsm= and seccomp allowed, "
             "keeps jobs from the rest of the file system; see docs/security.md";
}

static void find_mpi(const cse_command_line *line, finding *f)
{
    (void)line;
    char program[PATH_MAX + 32];
    const ssize_t length = readlink("/proc/self/exe", program, PATH_MAX);
    program[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(program, '/');
    snprintf(slash != NULL ? slash : program, 32, "/csengine-mpi-carrier");
    const bool built = access(program, X_OK) == 0;
    if (built && is_in_path("mpirun"))
        cse_text_add(&f->text, "host_link: mpi can be used");
    else if (built)
        cse_text_add(&f->text, "no mpirun: host_link: mpi needs openmpi-bin, or Slurm with PMIx");
    else
        cse_text_add(&f->text,
                     "built without: host_link: mpi needs libopenmpi-dev and a new build");
}

static const struct {
    const char *name;
    void (*find)(const cse_command_line *line, finding *f);
} checks[] = {
    { "processor", find_isa },           { "cores", find_cores },
    { "compiler", find_compiler },       { "shared memory", find_shared_memory },
    { "memory", find_memory },           { "limits", find_limits },
    { "model_dir", find_model_dir },     { "HDF5", find_hdf5 },
    { "ZeroMQ", find_zeromq },           { "oneDNN", find_onednn },
    { "confinement", find_confinement }, { "Open MPI", find_mpi },
};

static int check_machine(const cse_command_line *line)
{
    static const char *const words[] = { "pass", "warn", "fail" };
    bool json = cse_option_is_on(line, "json"), failed = false;
    json_t *rows = json_array();
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        finding f = { 0 };
        checks[i].find(line, &f);
        failed = failed || f.verdict == FAIL;
        if (json)
            json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:s?}", "check", checks[i].name,
                                                  "verdict", words[f.verdict], "found", f.text.data,
                                                  "fix", f.fix));
        else
            cse_print("%s  %-14s %s%s%s\n", words[f.verdict], checks[i].name, f.text.data,
                      f.fix != NULL ? "; fix: " : "", f.fix != NULL ? f.fix : "");
        cse_text_clear(&f.text);
    }
    if (json) {
        json_dumpf(rows, stdout, JSON_INDENT(1));
        putchar('\n');
    }
    json_decref(rows);
    return failed ? 1 : 0;
}

static int run(const cse_command_line *line)
{
    return cse_option_value(line, "hosts") != NULL ? cse_doctor_hosts(line) : check_machine(line);
}

static const cse_option options[] = {
    { "model_dir", "DIR", NULL, "directory to check; default ./model_dir" },
    { "hosts", "LIST", NULL,
      "measures the links between these hosts, and compares them; auto: those of the job of Slurm, "
      "PBS or LSF" },
    { "host_launcher", "NAME", NULL, "how a program is started on them, as start does" },
    { "host_launcher_options", "TEXT", NULL, "further arguments of the launcher's client" },
    { "host_port", "PORT", NULL,
      "of the first host in the list, the next one has two more; default: a random one" },
    { "json", NULL, NULL, "JSON on stdout" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "doctor", "whether this machine can run jobs" },
    { "doctor --hosts n1,n2,n3", "whether three hosts can run one job together, and how fast" },
    { 0 },
};

const cse_command cse_command_doctor = {
    .name = "doctor",
    .group = CSE_GROUP_LOOK,
    .summary = "checks whether this machine can run jobs, and suggests fixes",
    .arguments = "",
    .doc =
        "With --hosts it starts a program on each of them for some seconds, which measures each\n"
        "pair over the link that a run has: latency, bandwidth, clocks; and compares versions\n"
        "and processors. The exit code is 0 without failures, 69 where a host or a connection\n"
        "is missing, else 1.",
    .options = options,
    .min_arguments = 0,
    .max_arguments = 0,
    .values = "host_launcher=exec|local|mpi|slurm|ssh",
    .examples = examples,
    .run = run,
};
