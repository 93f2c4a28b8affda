/* The section `sparsity`: which parameters are sparse, how sparse, and how their masks change. One
 * mapping or a list of them, or a number; the same for CONFIG.yaml and for YAML given to the C API.
 * Names and defaults are those of cerebras.pytorch.sparse. */
#ifndef CSE_CONFIG_SPARSITY_SETTINGS_H
#define CSE_CONFIG_SPARSITY_SETTINGS_H

#include "csengine/extend.h"
#include "engine/base/config/yaml.h"

/* LIST(FIRST, NEXT) of (name, enumerator). */
#define CSE_SPARSITY_ALGORITHMS(FIRST, NEXT) \
    FIRST("static", CSE_SPARSITY_STATIC)     \
    NEXT("gmp", CSE_SPARSITY_GMP)            \
    NEXT("set", CSE_SPARSITY_SET)            \
    NEXT("rigl", CSE_SPARSITY_RIGL)
#define CSE_SPARSITY_INITS(FIRST, NEXT)         \
    FIRST("random", CSE_SPARSITY_RANDOM)        \
    NEXT("topk", CSE_SPARSITY_TOPK)             \
    NEXT("from_zeros", CSE_SPARSITY_FROM_ZEROS) \
    NEXT("checkerboard", CSE_SPARSITY_CHECKERBOARD)

#define CSE_SPARSITY_ENUMERATOR(name, enumerator) enumerator,
typedef enum cse_sparsity_algorithm {
    CSE_SPARSITY_ALGORITHMS(CSE_SPARSITY_ENUMERATOR, CSE_SPARSITY_ENUMERATOR)
} cse_sparsity_algorithm;
typedef enum cse_sparsity_init {
    CSE_SPARSITY_INITS(CSE_SPARSITY_ENUMERATOR, CSE_SPARSITY_ENUMERATOR)
} cse_sparsity_init;

/* A number that depends on t, the number of steps done:
 *   constant  value
 *   linear    init + t slope
 *   exp       final + (init - final) e^(t gamma)
 *   power     init beta^t
 *   cosine    o + (init - o) cos(pi t / half_period), o = (init + minimum) / 2
 *   cycling   values[k modulo their number] in the k-th change of the masks
 *   cubic     final + (init - final) (1 - (t - start) / (stop - start))^3 for t in [start, stop]
 *             (Zhu and Gupta, "To prune, or not to prune", 2017) */
typedef enum cse_sparsity_curve {
    CSE_SPARSITY_CONSTANT,
    CSE_SPARSITY_LINEAR,
    CSE_SPARSITY_EXP,
    CSE_SPARSITY_POWER,
    CSE_SPARSITY_COSINE,
    CSE_SPARSITY_CYCLING,
    CSE_SPARSITY_CUBIC,
} cse_sparsity_curve;

enum { CSE_SPARSITY_MOST_VALUES = 64 };

typedef struct cse_sparsity_number {
    cse_sparsity_curve curve;
    double init, slope, gamma, final, beta, half_period, minimum; /* constant: init */
    int64_t start, stop;
    double values[CSE_SPARSITY_MOST_VALUES];
    int value_count;
} cse_sparsity_number;

/* When masks change: where t is start, start + freq, ... below stop; or one of `steps`. */
typedef struct cse_sparsity_update {
    int64_t freq, start, stop; /* stop INT32_MAX: never */
    int64_t steps[CSE_SPARSITY_MOST_VALUES];
    int step_count; /* 0: by freq */
} cse_sparsity_update;

typedef struct cse_sparsity_group {
    cse_sparsity_algorithm algorithm;
    cse_sparsity_init init;
    cse_sparsity_number sparsity, drop_fraction;
    cse_sparsity_update update;
    const char **patterns; /* of parameters' names; NULL: those that are sparse by default */
    int pattern_count;
    cse_place place; /* of the patterns, else of the group */
} cse_sparsity_group;

typedef struct cse_sparsity_groups {
    const cse_sparsity_group *groups;
    int count;
} cse_sparsity_groups;

/* Of one group. */
extern const cse_setting cse_sparsity_setting_table[];

/* Reads a tree whose nodes and whose `arena` live as long as the groups. Null: no groups. Messages
 * begin with "sparsity: ". */
cse_status cse_sparsity_settings_read(cse_arena *arena, cse_yaml_node *tree,
                                      cse_sparsity_groups *groups);

/* Whether masks of the group are sparse before the first step, and the number at t = 0. */
bool cse_sparsity_starts_sparse(const cse_sparsity_group *group);
double cse_sparsity_first(const cse_sparsity_number *number);

#endif
