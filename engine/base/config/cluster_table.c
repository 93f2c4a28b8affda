/* One list of hints a section; the rows of the tables and the reasons are made of it. */
#include "engine/base/config/cluster_table.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/config/settings.h"
#include "engine/base/types/binding.h"

#define CLUSTER "init.backend.cluster_config."
#define BACKEND "init.backend."
#define CSX "init.backend.csx."
#define TRAIN_DATA "fit.train_dataloader."

/* A year: longer limits are mistakes of unit. */
#define MAX_SECONDS 31536000.0
#define MOST_HOSTS 256

#define ONE_MACHINE "all processes of a run are started on this machine"
#define SEES_FILES "the processes of a run see the files of this machine"
#define ONE_MEMORY "the processes of a run share one memory, nothing is sent"
#define REPLICAS "num_csx says how many replicas there are"
#define MEMORY "csengine submit --memory_bytes limits the memory of a job's processes"
#define INITIAL "first values are made in place, each a function of seed, name and element"

/* X(name, type, reason) */
#define CLUSTER_HINTS(X)                                                                       \
    X("max_act_per_csx", INTEGER,                                                              \
      "there are no activation servers: a replica keeps its activations in its own memory")    \
    X("mgmt_address", TEXT, ONE_MACHINE)                                                       \
    X("mgmt_namespace", TEXT, ONE_MACHINE)                                                     \
    X("credentials_path", TEXT, "the processes of a run talk by sockets of one user")          \
    X("cbcore_image", TEXT, "no container is started: all processes are this program")         \
    X("automount", BOOL, SEES_FILES)                                                           \
    X("mount_all", BOOL, SEES_FILES)                                                           \
    X("disable_mount_check", BOOL, "mount_dirs are looked at in any case, which costs little") \
    X("disable_version_check", BOOL, "all processes of a run are the same program")            \
    X("workflow_id", TEXT, "no cores are kept free for later jobs")                            \
    X("notifications", ANY,                                                                    \
      "the end of a job is an exit code, and an event at GET /api/v1/jobs/ID/events")          \
    X("transfer_processes", INTEGER, ONE_MEMORY)                                               \
    X("debug_args", ANY, "log_level: DEBUG and the section numerics say what happens in a run")

#define BACKEND_HINTS(X)                                                                \
    X("artifact_dir", TEXT, "compiled steps lie in compile_dir, all else in model_dir") \
    X("enable_distributed", BOOL, REPLICAS)                                             \
    X("main_process_id", INTEGER, REPLICAS)                                             \
    X("dist_backend", TEXT, ONE_MEMORY)                                                 \
    X("init_method", TEXT, ONE_MACHINE)                                                 \
    X("sync_batchnorm", BOOL, "a step is a function of its batch, whatever num_csx is")

/* Flags of cstorch.backends.csx; precision.optimization_level has an effect. */
#define CSX_HINTS(X)                                                                           \
    X("performance.micro_batch_size", ANY, "write train_dataloader.micro_batch_size")          \
    X("performance.transfer_processes", ANY, ONE_MEMORY)                                       \
    X("performance.max_transfer_bytes", ANY, ONE_MEMORY)                                       \
    X("performance.compress_weights", ANY, ONE_MEMORY)                                         \
    X("performance.use_speculative_optimizers", ANY,                                           \
      "a step whose gradients are not finite leaves the states as they were")                  \
    X("cluster.auto_taint", ANY, ONE_MACHINE)                                                  \
    X("storage.s3.profile", ANY, "checkpoints are files")                                      \
    X("debug.ini", ANY, "it holds options of another compiler")                                \
    X("debug.debug_args", ANY, "it holds options of another compiler")                         \
    X("debug.drop_data", ANY, "data_processor: synthetic costs nothing to read")               \
    X("debug.lazy_initialization", ANY, INITIAL)                                               \
    X("debug.skip_weight_init", ANY, INITIAL)                                                  \
    X("debug.optimize_initialization", ANY, INITIAL)                                           \
    X("debug.log_initialization", ANY, INITIAL)                                                \
    X("debug.retrace_every_iteration", ANY, "a step is traced once")                           \
    X("debug.implicit_cast_cb16_to_fp32", ANY, "values that leave a step as cb16 are float32") \
    X("debug.save_gpv", ANY, "it holds options of another compiler")                           \
    X("debug.check_constraints", ANY, "it holds options of another compiler")                  \
    X("debug.fabric_type_blacklist", ANY, ONE_MACHINE)                                         \
    X("debug.compile_crd_memory_gi", ANY, MEMORY)                                              \
    X("debug.execute_crd_memory_gi", ANY, MEMORY)                                              \
    X("debug.wrk_memory_gi", ANY, MEMORY)                                                      \
    X("debug.act_memory_gi", ANY, MEMORY)                                                      \
    X("debug.cmd_memory_gi", ANY, MEMORY)                                                      \
    X("debug.wgt_memory_gi", ANY, MEMORY)                                                      \
    X("debug.chf_memory_gi", ANY, MEMORY)

/* Of data loaders; by the ModelZoo's loaders, which read with processes of their own. */
#define DATA_HINTS(X)                                                                          \
    X("num_workers", ANY, "num_workers_per_csx says how many processes read data")             \
    X("prefetch_factor", ANY, "input workers read ahead as far as the ring has room")          \
    X("persistent_workers", ANY, "input workers live as long as the run")                      \
    X("use_worker_cache", ANY, "the kernel keeps files in memory")                             \
    X("shuffle_buffer", ANY, "all samples of an epoch are shuffled, whatever memory there is") \
    X("vocab_size", ANY, "the model's vocab_size counts")                                      \
    X("to_float16", ANY, "precision.fp16_type says what is rounded")

/* Of checkpoints. */
#define CHECKPOINT_HINTS(X)                                                                      \
    X("disable_strict_checkpoint_loading", BOOL,                                                 \
      "a checkpoint holds all states of the model; fit.weights takes those that are there, and " \
      "LoadCheckpointStates a part")

#define HINT_ROW(name, type, reason) \
    { name, CSE_SETTING_##type, "null", 0, 0, NULL, "no effect: " reason, NULL },

static const cse_setting cluster_config_table[] = {
    { "num_csx", CSE_SETTING_INTEGER, "1", 1, 1024, NULL,
      "replicas that share the microbatches of a step; the result does not depend on it", NULL },
    { "num_workers_per_csx", CSE_SETTING_INTEGER, "1", 1, 64, NULL,
      "input workers for each replica", NULL },
    { "job_labels", CSE_SETTING_TEXT_LIST, "[]", 0, 0, NULL,
      "key=value labels that are recorded with the job", NULL },
    { "job_priority", CSE_SETTING_CHOICE, "null", 0, 0, "p1|p2|p3",
      "place in a server's queue, p1 first, where csengine submit is given none; null: p2", NULL },
    { "job_time_sec", CSE_SETTING_INTEGER, "null", 1, MAX_SECONDS, NULL,
      "seconds after which the run ends with a checkpoint, pauses included, waiting in a queue "
      "not; null: no limit",
      NULL },
    { "max_wgt_servers", CSE_SETTING_INTEGER, "0", 0, 64, NULL,
      "weight servers; 0: the replicas reduce and update by themselves", NULL },
    { "binding", CSE_SETTING_CHOICE, "auto", 0, 0, CSE_CHOICES(CSE_BINDINGS),
      "processors of replicas and weight servers: cores binds each to one of its own, as far as "
      "there are enough; auto: where they take at least half of the processors; none: the system's "
      "scheduler decides; the result does not depend on it",
      NULL },
    { "audit_fraction", CSE_SETTING_NUMBER, "0", 0, 1, NULL,
      "share of the microbatches that another replica computes again: who has other bits is "
      "named and leaves; the result does not depend on it",
      NULL },
    { "hosts", CSE_SETTING_TEXT_LIST, "[]", 0, 0, NULL,
      "hosts that share a step, this one among them, as names, name:port or n[1-4]; auto: those of "
      "the batch system's job; the result does not depend on them",
      NULL },
    { "data_hosts", CSE_SETTING_TEXT_LIST, "[]", 0, 0, NULL,
      "those of the hosts that have the data, which read the samples of the others as well; none: "
      "each host has the data",
      NULL },
    { "host_launcher", CSE_SETTING_TEXT, "null", 0, 0, NULL,
      "how the agents of the other hosts are started; null: slurm within its jobs, else ssh",
      NULL },
    { "host_launcher_options", CSE_SETTING_TEXT, "null", 0, 0, NULL,
      "further arguments of that launcher, where {host} is the host's name", NULL },
    { "host_link", CSE_SETTING_TEXT, "null", 0, 0, NULL,
      "how bytes go from host to host; null: tcp", NULL },
    { "host_link_options", CSE_SETTING_TEXT, "null", 0, 0, NULL,
      "further arguments of what starts the carriers of the link mpi: mpirun, or srun", NULL },
    { "host_plain", CSE_SETTING_BOOL, "false", 0, 0, NULL,
      "what goes between hosts is authentic, but not encrypted", NULL },
    { "host_port", CSE_SETTING_INTEGER, "null", 1024, 65000, NULL,
      "the first of the ports that hosts listen at, two for each; null: chosen at random", NULL },
    { "lease_s", CSE_SETTING_NUMBER, "10", 0.1, 3600, NULL,
      "seconds of silence after which a host is lost", NULL },
    { "min_hosts", CSE_SETTING_INTEGER, "1", 1, MOST_HOSTS, NULL,
      "hosts below which the run ends with a checkpoint", NULL },
    { "host_shares", CSE_SETTING_CHOICE, "measured", 0, 0, "measured|even",
      "microbatches of each host: by measured speeds, in few pieces of sums; or equal numbers",
      NULL },
    { "host_return_s", CSE_SETTING_NUMBER, "5", 0, 86400, NULL,
      "seconds after which a lost host is tried again, twice as many after each further loss; 0: "
      "never",
      NULL },
    { "mount_dirs", CSE_SETTING_TEXT_LIST, "[]", 0, 0, NULL,
      "folders in which a relative path of a data loader is looked for when it is not in the "
      "working directory",
      NULL },
    { "python_paths", CSE_SETTING_TEXT_LIST, "[]", 0, 0, NULL,
      "folders in which a relative library is looked for when it is not in the working directory",
      NULL },
    { "precision_opt_level", CSE_SETTING_INTEGER, "null", 0, 2, NULL,
      "precision.precision_opt_level, where that is not given", NULL },
    CLUSTER_HINTS(HINT_ROW){ 0 },
};

const cse_setting cse_backend_setting_table[] = {
    { "backend_type", CSE_SETTING_CHOICE, "CPU", 0, 0, "CPU|CSX|GPU",
      "what the configuration was written for; the step runs on the CPU", NULL },
    { "compile_dir", CSE_SETTING_PATH, "null", 0, 0, NULL,
      "directory of compiled steps; null: MODEL_DIR/compiled", NULL },
    { "compile_only", CSE_SETTING_BOOL, "false", 0, 0, NULL,
      "compile and cache the step, run nothing", NULL },
    { "validate_only", CSE_SETTING_BOOL, "false", 0, 0, NULL,
      "trace and check the step, compile and run nothing", NULL },
    { "inference_threads", CSE_SETTING_INTEGER, "0", 0, 256, NULL,
      "threads that share each pass of a trained model, in generate, chat, predict, embed, serve "
      "and eval of tasks; the bits are those of one; 0: the cores that the process may use",
      NULL },
    { "cluster_config", CSE_SETTING_SETTINGS, "{}", 0, 0, NULL, "processes of the run",
      cluster_config_table },
    { "csx", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "flags of cstorch.backends.csx: precision.optimization_level is the precision_opt_level, "
      "`csengine list hints` has the others",
      NULL },
    BACKEND_HINTS(HINT_ROW){ 0 },
};

#define CLUSTER_HINT(name, type, reason) { CLUSTER name, reason },
#define BACKEND_HINT(name, type, reason) { BACKEND name, reason },
#define CSX_HINT(name, type, reason) { CSX name, reason },
#define CHECKPOINT_HINT(name, type, reason) { "init.checkpoint." name, reason },
#define DATA_HINT(name, type, reason) { TRAIN_DATA name, reason },

static const cse_config_hint hints[] = {
    CLUSTER_HINTS(CLUSTER_HINT) BACKEND_HINTS(BACKEND_HINT) CSX_HINTS(CSX_HINT)
        DATA_HINTS(DATA_HINT) CHECKPOINT_HINTS(CHECKPOINT_HINT){ NULL, NULL },
};

const cse_config_hint *cse_config_hint_at(int index)
{
    return hints[index].path != NULL ? &hints[index] : NULL;
}

/* The setting of any data loader, "validate.val_dataloader.1.num_workers", as one of training. */
static const char *as_of_training(const char *path, char text[static 96])
{
    const char *name = strrchr(path, '.');
    if (strstr(path, "_dataloader") == NULL || name == NULL)
        return path;
    snprintf(text, 96, TRAIN_DATA "%.60s", name + 1);
    return text;
}

const cse_config_hint *cse_config_hint_of(const char *given)
{
    char text[96];
    const char *path = as_of_training(given, text);
    for (const cse_config_hint *hint = hints; hint->path != NULL; hint++) {
        const size_t length = strlen(hint->path);
        if (strncmp(path, hint->path, length) == 0 && (path[length] == '\0' || path[length] == '.'))
            return hint;
    }
    return NULL;
}
