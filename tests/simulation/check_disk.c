/* What a crash of the host leaves, and what a disk that fails does, at every call that changes a
 * file: of checkpoints and of the compile cache.
 *
 * A checkpoint's name holds the new file whole, or the earlier one, or there is none; one whose
 * saving was told holds the new one. An entry of the compile cache is whole, or its damage is
 * noticed. A save that fails says so and changes nothing. Nothing temporary stays when the next run
 * has begun.
 *
 *     CSE_SIMULATION_SEEDS=FIRST:COUNT    other seeds */
#include <check.h>
#include <errno.h>
#include <limits.h>

#include "engine/base/log.h"
#include "engine/code/codegen/artefact.h"
#include "engine/code/codegen/codegen.h"
#include "tests/engine/formats/checkpoint/fixture.h"
#include "tests/support/random_graph.h"
#include "tests/support/simulation/disk_calls.h"
#include "tests/support/temporary_folder.h"

enum { CRASHES = 12, ELEMENTS = 3000, NODES = 40 };

static char base[64], here[96], there[96];
static uint64_t seed, random_state;
static long crashes, saves, failed_saves, states_old, states_new, states_none;
static int failures;

static unsigned draw(unsigned n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(random_state >> 33) % n;
}

__attribute__((format(printf, 1, 2))) static void wrong(const char *format, ...)
{
    va_list arguments;
    printf("seed %llu: ", (unsigned long long)seed);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    fflush(stdout);
    failures++;
}

static void empty_folder(const char *path)
{
    temporary_folder_remove(path);
    mkdir(path, 0700);
}

/* ---- checkpoints ---- */

/* The file of the given content: 1 or 2. */
static cse_checkpoint content_of(int which)
{
    static float values[2][ELEMENTS];
    static cse_checkpoint_tensor tensors[2][2];
    float *v = values[which - 1];
    for (int i = 0; i < ELEMENTS; i++)
        v[i] = (float)(i * which);
    tensors[which - 1][0] =
        (cse_checkpoint_tensor){ "model.weight", CSE_FLOAT32, { 1, { ELEMENTS - 7 } }, v };
    tensors[which - 1][1] =
        (cse_checkpoint_tensor){ "optimizer.moment", CSE_FLOAT32, { 1, { 7 } }, v + 9 };
    return (cse_checkpoint){ .tensors = tensors[which - 1],
                             .tensor_count = 2,
                             .global_step = which,
                             .model_name = "disk",
                             .config = "" };
}

/* 0: there is no such file; -1: it is neither content. */
static int what_is_in(const char *path)
{
    cse_checkpoint *read = NULL;
    const cse_status status = cse_checkpoint_load(path, &read);
    int which = status == CSE_NO_INPUT ? 0 : -1;
    for (int i = 1; status == CSE_OK && i <= 2; i++) {
        const cse_checkpoint expected = content_of(i);
        if (checkpoints_equal(&expected, read))
            which = i;
    }
    cse_checkpoint_destroy(&read);
    return which;
}

/* Every name but those of whole checkpoints, and temporary ones. */
static int others_in(const char *folder, bool temporary_too)
{
    int count = 0;
    DIR *entries = opendir(folder);
    for (struct dirent *e; entries != NULL && (e = readdir(entries)) != NULL;) {
        const char *dot = strrchr(e->d_name, '.');
        const bool temporary = dot != NULL && strcmp(dot, ".tmp") == 0;
        count += e->d_name[0] != '.' && strcmp(dot != NULL ? dot : "", ".mdl") != 0 &&
                 (!temporary || temporary_too);
    }
    if (entries != NULL)
        closedir(entries);
    return count;
}

typedef struct saving {
    int64_t step;      /* of the new checkpoint; the earlier one is of step 3 */
    cse_status status; /* of its saving */
    long length;       /* of the log */
} saving;

static void check_crash(const saving *s, long at)
{
    char path[160], earlier[160], latest[PATH_MAX];
    empty_folder(there);
    disk_crash(at, seed * 1000 + (uint64_t)crashes, there);
    crashes++;
    cse_checkpoint_path(there, s->step, path, sizeof path);
    cse_checkpoint_path(there, 3, earlier, sizeof earlier);
    const int found = what_is_in(path);
    const int old = s->step == 3 ? 1 : 0;
    states_old += found == 1;
    states_new += found == 2;
    states_none += found == 0;
    if (found != old && found != 2)
        wrong("a crash after %ld of %ld changes leaves %s: %s", at, s->length,
              found < 0 ? "a damaged checkpoint" : "another checkpoint", cse_error_message());
    if (s->status == CSE_OK && at == s->length && found != 2)
        wrong("a checkpoint is lost whose saving was told");
    if (s->step != 3 && what_is_in(earlier) != 1)
        wrong("the earlier checkpoint is lost");
    if (others_in(there, false) != 0)
        wrong("a file of an unknown kind stays");
    cse_checkpoint_sweep(there);
    if (others_in(there, true) != 0)
        wrong("a temporary file stays");
    if (cse_checkpoint_latest(there, latest, sizeof latest) != CSE_OK)
        wrong("nothing can be resumed from: %s", cse_error_message());
}

static void plan_faults(void)
{
    static const int errors[] = { ENOSPC, EIO, EDQUOT };
    if (draw(2) == 0)
        disk_fault.short_at = draw(30);
    if (draw(2) != 0)
        return;
    disk_fault.fails_at = draw(60);
    disk_fault.calls = draw(2) == 0 ? 0 : draw(20);
    disk_fault.error = errors[draw(3)];
}

/* A save that failed has told so; what it left is what was there. */
static void check_failure(const saving *s, const char *path)
{
    char temporary[200];
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    if (s->status != CSE_OK && disk_failures() == 1 && access(temporary, F_OK) == 0)
        wrong("saving failed, and its temporary file stays");
    const long failed = disk_failures();
    const int found = what_is_in(path);
    disk_fault.fails_at = -1;
    if ((s->status != CSE_OK) != (failed > 0))
        wrong("%ld calls failed, and saving ended with %d", failed, (int)s->status);
    if (s->status == CSE_OK && found != 2)
        wrong("the checkpoint is not what was saved");
    if (s->status != CSE_OK && found != 2 && found != (s->step == 3 ? 1 : 0))
        wrong("saving failed, and the file is damaged");
    failed_saves += s->status != CSE_OK;
}

static void checkpoint_seed(void)
{
    char path[160];
    saving s = { .step = draw(2) == 0 ? 3 : 4 + (int64_t)draw(3) };
    const cse_checkpoint first = content_of(1), second = content_of(2);
    empty_folder(here);
    disk_watch(NULL);
    cse_checkpoint_path(here, 3, path, sizeof path);
    if (cse_checkpoint_save(&first, path) != CSE_OK)
        wrong("%s", cse_error_message());
    if (draw(3) == 0) { /* of a writer that was killed */
        snprintf(path, sizeof path, "%s/checkpoint_%d.mdl.tmp", here, 3 + (int)draw(4));
        write_bytes(path, (const unsigned char *)"part", 4);
    }
    disk_watch(here);
    plan_faults();
    cse_checkpoint_path(here, s.step, path, sizeof path);
    s.status = cse_checkpoint_save(&second, path);
    saves++;
    s.length = disk_log_length();
    check_failure(&s, path);
    for (int i = 0; i < CRASHES; i++)
        check_crash(&s, i == 0 ? s.length : (long)draw((unsigned)s.length + 1));
    cse_checkpoint_sweep(here);
    if (others_in(here, true) != 0)
        wrong("a temporary file stays after a failure");
    disk_watch(NULL);
}

/* ---- the compile cache ---- */

static int temporaries_in(const char *folder)
{
    int count = 0;
    DIR *entries = opendir(folder);
    for (struct dirent *e; entries != NULL && (e = readdir(entries)) != NULL;)
        count += strncmp(e->d_name, ".new-", 5) == 0;
    if (entries != NULL)
        closedir(entries);
    return count;
}

static void check_entry(const cse_compile_result *made, long at)
{
    char path[256];
    cse_artefact found;
    empty_folder(there);
    disk_crash(at, seed * 1000 + (uint64_t)crashes, there);
    crashes++;
    snprintf(path, sizeof path, "%s/%s", there, strrchr(made->directory, '/') + 1);
    const cse_status status = cse_artefact_read(path, NULL, &found);
    if (status == CSE_OK && strcmp(found.digest, made->digest) != 0)
        wrong("an entry of other bytes is taken for whole, after %ld changes", at);
    if (status != CSE_OK && status != CSE_NO_INPUT && status != CSE_DATA)
        wrong("an entry cannot be judged, after %ld changes: %s", at, cse_error_message());
    if (status != CSE_OK && at == disk_log_length())
        wrong("an entry is lost that was made: %s", cse_error_message());
    states_new += status == CSE_OK;
    states_none += status == CSE_NO_INPUT;
    cse_artefact_clear(&found);
}

/* The next process makes the entry where it is missing, and takes away what the last one left. */
static void check_next(const cse_graph *graph, const cse_compile_result *made, bool damaged)
{
    cse_compile_result again;
    if (cse_codegen_compile(graph, there, &again) != CSE_OK)
        wrong("after a crash nothing can be compiled: %s", cse_error_message());
    else if (strcmp(again.digest, made->digest) != 0)
        wrong("after a crash another step is compiled");
    if (damaged && temporaries_in(there) != 0)
        wrong("a temporary folder stays");
}

static void cache_seed(const cse_graph *graph)
{
    cse_compile_result made;
    empty_folder(here);
    disk_watch(here);
    if (cse_codegen_compile(graph, here, &made) != CSE_OK) {
        wrong("%s", cse_error_message());
        return;
    }
    const long length = disk_log_length();
    for (int i = 0; i < CRASHES; i++) {
        const long at = i == 0 ? length : (long)draw((unsigned)length + 1);
        check_entry(&made, at);
        if (i < 3)
            check_next(graph, &made, at < length);
    }
    disk_watch(NULL);
}

static void full_cache_seed(const cse_graph *graph)
{
    cse_compile_result made;
    empty_folder(here);
    disk_watch(here);
    plan_faults();
    if (disk_fault.short_at >= 0)
        disk_fault.short_at %= 8; /* there are fewer writes than of a checkpoint */
    const cse_status status = cse_codegen_compile(graph, here, &made);
    const long failed = disk_failures();
    disk_fault.fails_at = -1;
    if (status != CSE_OK && failed == 0)
        wrong("nothing failed but compiling: %s", cse_error_message());
    failed_saves += status != CSE_OK;
    if (cse_codegen_compile(graph, here, &made) != CSE_OK)
        wrong("it cannot be compiled when the disk works again: %s", cse_error_message());
    if (!made.cached && temporaries_in(here) != 0)
        wrong("a temporary folder stays after a failure");
    disk_watch(NULL);
}

static unsigned long long first_seed = 1, seed_count = 200;
static bool given;

START_TEST(every_seed)
{
    cse_graph *graph = random_graph_new(5, NODES);
    fixture_passes(graph, "");
    for (seed = first_seed; seed < first_seed + seed_count && failures < 10; seed++) {
        random_state = seed;
        checkpoint_seed();
        if (seed % 4 == 0)
            cache_seed(graph);
        if (seed % 4 == 2)
            full_cache_seed(graph);
    }
    cse_graph_destroy(&graph);
    printf("%ld saves, %ld failed; %ld crashes: %ld left the earlier file, %ld the new one, %ld "
           "none\n",
           saves, failed_saves, crashes, states_old, states_new, states_none);
    fflush(stdout);
    ck_assert_int_eq(failures, 0);
    ck_assert(given || (failed_saves > 30 && states_old > 50 && states_new > 50));
}
END_TEST

int main(void)
{
    const char *seeds = getenv("CSE_SIMULATION_SEEDS");
    given = seeds != NULL;
    if (given && sscanf(seeds, "%llu:%llu", &first_seed, &seed_count) != 2) {
        fprintf(stderr, "CSE_SIMULATION_SEEDS=%s: accepted is FIRST:COUNT\n", seeds);
        return 64;
    }
    cse_log_set_level(CSE_LOG_ERROR);
    unsetenv("CSE_CC");
    setenv("PATH", "/nonexistent",
           1); /* no compiler: the interpreted step: its files are all our own */
    snprintf(base, sizeof base, "/tmp/csengine-check-XXXXXX");
    if (mkdtemp(base) == NULL)
        return EXIT_FAILURE;
    snprintf(here, sizeof here, "%s/here", base);
    snprintf(there, sizeof there, "%s/there", base);
    Suite *suite = suite_create("disk");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 7200);
    tcase_add_test(all, every_seed);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    temporary_folder_remove(base);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
