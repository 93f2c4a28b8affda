/* Ablations: several runs that share the past of one up to a step, each with other settings from
 * there on, and the unchanged run beside them, whose future is the run's own where it has one. */
#ifndef CSE_CLI_SWEEP_ABLATION_H
#define CSE_CLI_SWEEP_ABLATION_H

#include <stdbool.h>
#include <stdint.h>

#include "csengine/status.h"

#include "engine/base/arena.h"

enum { CSE_ABLATION_MOST_VARIANTS = 1000 };

typedef struct cse_ablation_variant {
    const char *name;      /* of the file, less its ending */
    const char *model_dir; /* of its run */
    const char **settings; /* "PATH=VALUE", ended by NULL */
    bool is_own;           /* the future of the run itself: nothing is computed */
    const char *failure;   /* NULL: it has ended well, or was not begun */
} cse_ablation_variant;

typedef struct cse_ablation {
    const char *run, *folder;
    int64_t at;                     /* the last step that all share */
    int64_t end;                    /* the last step of all; 0: as the configuration says */
    int64_t num_csx;                /* 0: as the run had */
    const char **settings;          /* of all variants; ended by NULL */
    cse_ablation_variant *variants; /* [count], the unchanged one first */
    int count;
    cse_arena *arena;
    void (*on_begin)(const cse_ablation_variant *variant); /* may be NULL */
} cse_ablation;

/* Reads the files of overrides, each a mapping {PATH: VALUE} of settings as in --set, and decides
 * where the unchanged run comes from. The members before `variants` are set. CSE_CONFIG with the
 * place and what is accepted; CSE_NO_INPUT, CSE_USAGE. */
cse_status cse_ablation_plan(cse_ablation *ablation, const char *const *files);
/* Trains what is not there yet, one after the other; a variant that fails has its `failure`.
 * CSE_CONFIG where the folder is that of another ablation; CSE_INTERRUPTED at Ctrl-C: the same
 * ablation then goes on with the variants that are not complete. */
cse_status cse_ablation_run(cse_ablation *ablation);

#endif
