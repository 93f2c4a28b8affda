/* How a shared object offers plugins to the engine: ops, optimizers, schedules, metrics, input
 * functions, callbacks, loggers and models of your own.
 *
 * A plugin is a descriptor, a constant whose members csengine/op.h, optimizer.h, schedule.h,
 * metric.h, input.h, callback.h, logger.h and model.h define. A shared object holds any number of
 * them, and exports one table that names each:
 *
 *     #include <csengine/csengine.h>
 *
 *     static const cse_optimizer_descriptor sign_sgd = { .name = "SignSGD", ... };
 *     static const cse_schedule_descriptor triangle = { .name = "Triangle", ... };
 *
 *     CSE_PLUGINS(CSE_OPTIMIZER_PLUGIN(&sign_sgd), CSE_SCHEDULE_PLUGIN(&triangle));
 *
 * Compile it with `cc -shared -fPIC plugins.c -o plugins.so $(pkg-config --cflags --libs
 * csengine)`, check it with `csengine check-plugin ./plugins.so`, and name it in a configuration:
 * `optimizer: {library: ./plugins.so, name: SignSGD, lr: 0.1}`. */
#ifndef CSENGINE_PLUGIN_H
#define CSENGINE_PLUGIN_H

#include "csengine/extend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the structs below. */
enum { CSE_PLUGIN_ABI = 1 };

/* One plugin of a shared object. Made by the macro of its kind, which writes the version of the
 * kind's contract that the object is compiled with. */
typedef struct cse_plugin {
    const char *kind; /* "optimizer"; NULL ends a table */
    int abi;          /* version of the kind's contract: CSE_OPTIMIZER_ABI */
    const void *descriptor;
} cse_plugin;

/* What a shared object exports as cse_plugin_library. */
typedef struct cse_plugin_table {
    int abi; /* CSE_PLUGIN_ABI */
    const cse_plugin *plugins;
} cse_plugin_table;

/* Exports the table of a shared object: once in it, with one or more plugins. */
#define CSE_PLUGINS(...)                                                      \
    static const cse_plugin cse_plugin_list[] = { __VA_ARGS__, { 0, 0, 0 } }; \
    CSE_API extern const cse_plugin_table cse_plugin_library;                 \
    const cse_plugin_table cse_plugin_library = { CSE_PLUGIN_ABI, cse_plugin_list }

/* A row of the table; `type` is that of `descriptor`, a constant's address. Used by the macros of
 * the kinds. */
#define CSE_PLUGIN_ROW(kind, abi, type, descriptor) \
    {                                               \
        kind, abi, (1 ? (descriptor) : (type *)0)   \
    }

/* Loads a shared object of plugins into this program. Its optimizers, schedules, metrics, input
 * functions and models are known by name from then on (cse_configure_optimizer and the like), and
 * so are its ops. It stays loaded until the process ends; the second call for a file does nothing.
 * A program may instead name the library where it names the plugin, as a configuration does:
 *
 *     cse_configure_optimizer("SignSGD", model, "{library: ./plugins.so, lr: 0.1}");
 *
 * CSE_NO_INPUT: the file is missing; CSE_DATA: it is no library of plugins, or one for another
 * version of this engine; CSE_CONFIG: a plugin has the name of a built-in one. */
CSE_API cse_status cse_plugin_load(const char *library);

/* ---- what plugins of several kinds share ---- */

enum { CSE_MAX_DECLARED_STATES = 10 };

enum { CSE_NO_MOMENT, CSE_MOMENT, CSE_MOMENT_NOT_NEGATIVE };

/* A float32 state that a plugin declares beforehand and that is carried from step to step: an
 * optimizer for each parameter, a metric once. */
typedef struct cse_declared_state {
    const char *name;
    bool scalar; /* else of the parameter's shape */
    bool dense; /* of an optimizer: not zero where a sparse parameter is (cse_configure_sparsity) */
    /* Of an optimizer: CSE_MOMENT or CSE_MOMENT_NOT_NEGATIVE of what the setting `moments` may keep
     * in fewer bits; then the optimizer has that setting. */
    unsigned char moment;
    bool square; /* of a metric: a matrix with as many rows and columns as length_setting says */
    /* The axes of that shape that it lacks, as bits: axis 0 is bit 0. */
    unsigned without_axes;
    double initial;
} cse_declared_state;

#ifdef __cplusplus
}
#endif

#endif
