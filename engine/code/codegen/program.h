/* The sequence of calls that a compiled step makes, as data.
 *
 * The generated C holds one function for all groups that are alike; what differs from group to
 * group is passed to it as an array of numbers: offsets of stored values, the number of a kernel, a
 * random stream. A program names the function of each group and holds these numbers, so that the C
 * grows with the kinds of groups and not with their count. It is saved in the plan's file, and what
 * is read from there is checked against the graph before anything is called with it. */
#ifndef CSE_CODEGEN_PROGRAM_H
#define CSE_CODEGEN_PROGRAM_H

#include "engine/graph/graph.h"
#include "engine/graph/packing.h"

/* Added to the offset of a value in CSE_SPACE_LENT, which the code takes for one of REPLICA: so
 * groups that differ in this alone are one function. */
#define CSE_LENT_FROM ((int64_t)1 << 62)

typedef enum cse_program_parameter_kind {
    CSE_PARAMETER_PLACE,   /* the offset of a stored value */
    CSE_PARAMETER_KERNEL,  /* the number of a library kernel */
    CSE_PARAMETER_TRACKED, /* the number of a tensor that statistics are taken of */
    CSE_PARAMETER_STREAM,  /* of random numbers */
    CSE_PARAMETER_COUNT
} cse_program_parameter_kind;

typedef struct cse_program_parameter {
    cse_program_parameter_kind kind;
    cse_space space; /* PLACE: where the value is; REPLICA also for LENT */
    int64_t bytes;   /* PLACE: how long it is */
} cse_program_parameter;

/* What a function of the generated C offers; bits. */
enum {
    CSE_ENTRY_RUN = 1,        /* runs a group of REPLICA or WEIGHTS */
    CSE_ENTRY_STATISTICS = 2, /* the same on a step that takes statistics */
    CSE_ENTRY_UPDATE = 4,     /* runs a group of UPDATE */
    CSE_ENTRY_PROPOSE = 8,    /* its values without a change of state */
};

typedef struct cse_program_function {
    int entries;
    int first, count; /* its parameters */
} cse_program_function;

typedef struct cse_program {
    cse_program_function *functions;
    int function_count, function_capacity;
    cse_program_parameter *parameters;
    int parameter_count, parameter_capacity;
    int *functions_of; /* by group */
    int *first_values; /* by group: of its numbers in `values` */
    int group_count;
    int64_t *values;
    int value_count, value_capacity;
} cse_program;

void cse_program_clear(cse_program *program);

/* Whether every number of the program lies in the bounds that the graph gives: functions are there
 * and have the entries that their groups need, values are inside their space, kernels and tracked
 * tensors exist. Fails with CSE_DATA. */
cse_status cse_program_check(const cse_program *program, const cse_graph *graph);

/* To the plan's file, and from it; what is read is not checked yet. */
void cse_program_pack(const cse_program *program, cse_text *out);
void cse_program_unpack(cse_unpacker *from, cse_program *program);

#endif
