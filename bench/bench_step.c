/* One training step of the 784-500-300-10 perceptron (SGD, batch 128, one microbatch, float32, one
 * core), from the trace to the compiled code, against PyTorch and against its own matrix products.
 *
 * Our steps, PyTorch's steps (bench_step_torch.py, another process) and the step's matrix products
 * alone run in turns, ROUNDS times, so that other load on the machine affects all equally, and
 * medians are compared. Before that, both must give the same losses from the same weights and data.
 * PyTorch's interpreter is $CSE_TORCH_PYTHON or python3; without PyTorch the rest is printed. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/directory.h"
#include "engine/base/random.h"
#include "engine/code/codegen/codegen.h"
#include "engine/code/execute/execute.h"
#include "engine/code/kernels/kernel.h"
#include "engine/graph/passes/pass.h"
#include "engine/graph/trace/trace.h"

enum { BATCH = 128, LAYERS = 3, BATCHES = 8, CHECKED_STEPS = 20, ROUNDS = 31, STEPS = 40 };

#define RATE 0.01
static const int64_t widths[LAYERS + 1] = { 784, 500, 300, 10 };

static void require(cse_status status)
{
    if (status == CSE_OK)
        return;
    fprintf(stderr, "bench_step: %s\n", cse_error_message());
    exit(EXIT_FAILURE);
}

/* ---- the step ---- */

static cse_node *input(cse_graph *graph, const char *name, cse_shape shape, cse_dtype dtype)
{
    const cse_attributes attributes = { .integer_count = 1,
                                        .integers = { graph->input_count },
                                        .text = name };
    cse_node *node = cse_graph_leaf(graph, &cse_op_input, &attributes, shape, dtype);
    CSE_GROW(graph->inputs, graph->input_count, graph->input_capacity);
    graph->inputs[graph->input_count++] =
        (cse_input_entry){ .name = name, .shape = shape, .dtype = dtype, .node = node };
    return node;
}

static cse_node *parameter(cse_graph *graph, const char *kind, int layer, cse_shape shape)
{
    int index;
    double bound = 1 / sqrt((double)widths[layer]);
    const cse_state_entry entry = {
        .name = cse_arena_printf(graph->arena, "fc_layers.%d.%s", layer, kind),
        .shape = shape,
        .dtype = CSE_FLOAT32,
        .initializer = { CSE_INIT_UNIFORM, -bound, bound },
        .trainable = true,
    };
    require(cse_graph_add_state(graph, &entry, &index));
    return cse_graph_state_node(graph, index);
}

static cse_graph *trace_step(void)
{
    cse_graph *graph = cse_graph_new(1, BATCH);
    cse_node *parameters[2 * LAYERS];
    cse_trace_begin(graph);
    for (int i = 0; i < LAYERS; i++) {
        parameters[2 * i] = parameter(graph, "weight", i, cse_shape_of(widths[i + 1], widths[i]));
        parameters[2 * i + 1] = parameter(graph, "bias", i, cse_shape_of(widths[i + 1]));
    }
    cse_tensor *x = input(graph, "images", cse_shape_of(BATCH, widths[0]), CSE_FLOAT32);
    cse_tensor *labels = input(graph, "labels", cse_shape_of(BATCH), CSE_INT32);
    for (int i = 0; i < LAYERS; i++) {
        x = cse_linear(x, parameters[2 * i], parameters[2 * i + 1]);
        x = i + 1 < LAYERS ? cse_relu(x) : x;
    }
    cse_tensor *loss = cse_cross_entropy(x, labels);
    for (int i = 0; i < 2 * LAYERS; i++) {
        cse_tensor *gradient = cse_trace_2(&cse_op_gradient, NULL, loss, parameters[i]);
        gradient = cse_trace_1(&cse_op_batch_sum, NULL, gradient);
        graph->states[i].next = cse_sub(parameters[i], cse_scale(gradient, RATE));
    }
    CSE_GROW(graph->fetches, graph->fetch_count, graph->fetch_capacity);
    graph->fetches[graph->fetch_count++] =
        (cse_fetch_entry){ .name = "loss", .value = cse_trace_1(&cse_op_batch_sum, NULL, loss) };
    cse_trace_end();
    require(cse_trace_status(graph));
    const cse_passes_options options = { .disable = getenv("CSE_DISABLE") };
    require(cse_passes_run(graph, &options));
    return graph;
}

/* ---- running it ---- */

typedef struct runner {
    cse_executable *executable;
    cse_frame frame;
    unsigned char *batches[BATCHES];
    int64_t steps;
} runner;

static void fill_batch(const cse_graph *graph, int batch, unsigned char *bytes)
{
    float *images = (float *)(void *)(bytes + graph->inputs[0].offset_bytes);
    int32_t *labels = (int32_t *)(void *)(bytes + graph->inputs[1].offset_bytes);
    for (int64_t i = 0; i < BATCH * widths[0]; i++) {
        uint32_t counter[4] = { (uint32_t)i, (uint32_t)batch }, words[4];
        cse_philox(17, counter, words);
        images[i] = 2 * (float)cse_uniform_from_bits(words[0]) - 1;
        if (i < BATCH)
            labels[i] = (int32_t)(words[1] % (uint32_t)widths[LAYERS]);
    }
}

static void runner_init(runner *run, cse_executable *executable)
{
    const cse_graph *graph = executable->graph;
    *run = (runner){ .executable = executable, .frame = { .seed = 1 } };
    for (int s = 0; s < CSE_SPACE_COUNT; s++)
        run->frame.base[s] = cse_aligned_calloc((size_t)graph->space_bytes[s] + 64);
    /* With one microbatch its gradients are the sums. */
    free(run->frame.base[CSE_SPACE_REDUCED]);
    run->frame.base[CSE_SPACE_REDUCED] = run->frame.base[CSE_SPACE_PARTIAL];
    free(run->frame.base[CSE_SPACE_INPUT]);
    for (int i = 0; i < BATCHES; i++) {
        run->batches[i] = cse_aligned_calloc((size_t)graph->space_bytes[CSE_SPACE_INPUT] + 64);
        fill_batch(graph, i, run->batches[i]);
    }
    cse_states_initialize(graph, 1, run->frame.base[CSE_SPACE_STATE]);
}

static void runner_clear(runner *run)
{
    run->frame.base[CSE_SPACE_REDUCED] = run->frame.base[CSE_SPACE_INPUT] = NULL;
    for (int s = 0; s < CSE_SPACE_COUNT; s++)
        free(run->frame.base[s]);
    for (int i = 0; i < BATCHES; i++)
        free(run->batches[i]);
}

static float run_step(runner *run)
{
    cse_executable *executable = run->executable;
    const cse_graph *graph = executable->graph;
    float loss;
    run->frame.base[CSE_SPACE_INPUT] = run->batches[run->steps % BATCHES];
    run->frame.step = run->steps++;
    executable->replica(executable, &run->frame);
    executable->weights(executable, &run->frame);
    for (int g = 0; g < graph->group_count; g++) {
        const int64_t lines[2] = { 0, (graph->groups[g].elements + CSE_LINE_ELEMENTS - 1) /
                                          CSE_LINE_ELEMENTS };
        if (graph->groups[g].part == CSE_PART_UPDATE)
            executable->update(executable, &run->frame, g, lines, NULL);
    }
    memcpy(&loss, run->frame.base[CSE_SPACE_FETCH] + graph->fetches[0].offset_bytes, sizeof loss);
    return loss;
}

/* ---- the step's matrix products alone ---- */

typedef struct product {
    cse_kernel *kernel;
    const void *inputs[CSE_MAX_INPUTS];
    void *output;
} product;

typedef struct products {
    product all[32];
    int count;
} products;

static void *place_of(runner *run, const cse_node *node)
{
    unsigned char *base =
        node->space == CSE_SPACE_INPUT ? run->batches[0] : run->frame.base[node->space];
    return base + node->offset_bytes;
}

/* Collects the step's groups of matrix products, with their operands in the step's memory. */
static void collect_products(runner *run, products *found)
{
    const cse_graph *graph = run->executable->graph;
    found->count = 0;
    for (int g = 0; g < graph->group_count && found->count < 32; g++) {
        const cse_group *group = &graph->groups[g];
        cse_node *inputs[CSE_MAX_INPUTS];
        if (group->kind != CSE_GROUP_LIBRARY || group->nodes[0]->op->kernel.results > 1)
            continue;
        product *one = &found->all[found->count++];
        require(cse_kernel_new(graph, group, &one->kernel));
        int count = cse_group_inputs(graph, group, inputs, CSE_MAX_INPUTS);
        for (int i = 0; i < count; i++)
            one->inputs[i] = place_of(run, inputs[i]);
        one->output = place_of(run, group->nodes[group->node_count - 1]);
    }
}

static void run_products(const products *found)
{
    for (int i = 0; i < found->count; i++)
        found->all[i].kernel->run(found->all[i].kernel, found->all[i].inputs, found->all[i].output);
}

/* ---- PyTorch's process ---- */

typedef struct peer {
    pid_t process;
    FILE *to, *from;
    char answer[4096];
} peer;

static bool peer_ask(peer *torch, const char *question)
{
    if (question != NULL) {
        fprintf(torch->to, "%s\n", question);
        fflush(torch->to);
    }
    return fgets(torch->answer, sizeof torch->answer, torch->from) != NULL;
}

static void write_file(const char *directory, const char *name, const void *bytes, size_t size,
                       const char *mode)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, mode);
    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
        fprintf(stderr, "bench_step: cannot write %s\n", path);
        exit(EXIT_FAILURE);
    }
}

/* Initial weights in the order of the layers, and the batches. */
static void write_data(const runner *run, const char *directory)
{
    const cse_graph *graph = run->executable->graph;
    for (int i = 0; i < graph->state_count; i++)
        write_file(
            directory, "weights", run->frame.base[CSE_SPACE_STATE] + graph->states[i].offset_bytes,
            (size_t)cse_shape_elements(graph->states[i].shape) * sizeof(float), i == 0 ? "w" : "a");
    for (int i = 0; i < BATCHES; i++) {
        write_file(directory, "images", run->batches[i] + graph->inputs[0].offset_bytes,
                   (size_t)(BATCH * widths[0]) * sizeof(float), i == 0 ? "w" : "a");
        write_file(directory, "labels", run->batches[i] + graph->inputs[1].offset_bytes,
                   BATCH * sizeof(int32_t), i == 0 ? "w" : "a");
    }
}

static bool peer_start(peer *torch, const char *script, const char *directory)
{
    int down[2], up[2];
    const char *python = getenv("CSE_TORCH_PYTHON") ? getenv("CSE_TORCH_PYTHON") : "python3";
    if (pipe(down) != 0 || pipe(up) != 0)
        return false;
    torch->process = fork();
    if (torch->process == 0) {
        dup2(down[0], STDIN_FILENO);
        dup2(up[1], STDOUT_FILENO);
        close(down[1]);
        close(up[0]);
        execlp(python, python, script, directory, (char *)NULL);
        _exit(127);
    }
    close(down[0]);
    close(up[1]);
    torch->to = fdopen(down[1], "w");
    torch->from = fdopen(up[0], "r");
    if (torch->process < 0 || !peer_ask(torch, NULL))
        return false;
    printf("peer: PyTorch %s", torch->answer + strlen("ready "));
    return true;
}

static void peer_stop(peer *torch)
{
    fclose(torch->to);
    fclose(torch->from);
    waitpid(torch->process, NULL, 0);
}

/* The losses of both, step by step. */
static void compare_losses(runner *run, peer *torch)
{
    char question[32];
    double furthest = 0;
    snprintf(question, sizeof question, "losses %d", CHECKED_STEPS);
    if (!peer_ask(torch, question))
        exit(EXIT_FAILURE);
    char *at = torch->answer;
    for (int i = 0; i < CHECKED_STEPS; i++) {
        double distance = fabs((double)run_step(run) - strtod(at, &at));
        furthest = distance > furthest ? distance : furthest;
    }
    printf("losses of %d steps: at most %.1e apart\n", CHECKED_STEPS, furthest);
    if (!(furthest <= 1e-4)) {
        fprintf(stderr, "bench_step: the losses differ, so the times cannot be compared\n");
        exit(EXIT_FAILURE);
    }
}

/* ---- measuring ---- */

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double values[ROUNDS])
{
    qsort(values, ROUNDS, sizeof *values, compare_numbers);
    return values[ROUNDS / 2];
}

static void measure(runner *run, const products *found, peer *torch)
{
    double ours[ROUNDS], alone[ROUNDS], theirs[ROUNDS];
    char question[32];
    snprintf(question, sizeof question, "steps %d", STEPS);
    for (int round = 0; round < ROUNDS; round++) {
        int64_t start = cse_clock_ns();
        for (int i = 0; i < STEPS; i++)
            run_step(run);
        int64_t middle = cse_clock_ns();
        for (int i = 0; i < STEPS; i++)
            run_products(found);
        ours[round] = (double)(middle - start) / STEPS / 1e6;
        alone[round] = (double)(cse_clock_ns() - middle) / STEPS / 1e6;
        theirs[round] = torch && peer_ask(torch, question) ? atof(torch->answer) / STEPS * 1e3 : 0;
    }
    double step = median(ours), floor = median(alone), other = median(theirs);
    printf("our step:               %.3f ms, %.0f samples/s\n", step, BATCH / step * 1e3);
    printf("its %d products alone:   %.3f ms\n", found->count, floor);
    printf("step / products alone:  %.3f\n", step / floor);
    if (torch != NULL) {
        printf("PyTorch's step:         %.3f ms, %.0f samples/s\n", other, BATCH / other * 1e3);
        printf("samples/s over PyTorch: %.3f\n", other / step);
    }
}

static void compile(const cse_graph *graph, const char *directory, cse_executable **executable)
{
    cse_compile_result cold, cached;
    int64_t start = cse_clock_ns();
    require(cse_codegen_compile(graph, directory, &cold));
    require(cse_codegen_compile(graph, directory, &cached));
    if (!cached.cached || cold.cached)
        printf("the compile cache did not behave as expected\n");
    start = cse_clock_ns();
    require(cse_executable_open(cold.directory, executable));
    printf("compile: cold %.3f s, cached %.4f s; opening %.4f s; runs %s\n", cold.seconds,
           cached.seconds, (double)(cse_clock_ns() - start) / 1e9, (*executable)->kind);
}

int main(void)
{
    char directory[] = "/tmp/bench_step.XXXXXX";
    char script[4096];
    cse_executable *executable;
    runner run;
    products found;
    peer torch;
    /* PyTorch's script is next to this source file. */
    snprintf(script, sizeof script, "%.*s_torch.py", (int)(sizeof __FILE__ - sizeof ".c"),
             __FILE__);
    setenv("OMP_NUM_THREADS", "1", 1);
    signal(SIGPIPE, SIG_IGN);
    if (mkdtemp(directory) == NULL)
        return EXIT_FAILURE;
    cse_graph *graph = trace_step();
    compile(graph, directory, &executable);
    runner_init(&run, executable);
    write_data(&run, directory);
    bool there = access(script, R_OK) == 0 && peer_start(&torch, script, directory);
    if (there) {
        compare_losses(&run, &torch);
        there = peer_ask(&torch, "prepare");
        printf("PyTorch's fastest mode here: %s", torch.answer);
    } else {
        printf("PyTorch was not found (set CSE_TORCH_PYTHON to a Python that has it)\n");
    }
    collect_products(&run, &found);
    measure(&run, &found, there ? &torch : NULL);
    if (there)
        peer_stop(&torch);
    for (int i = 0; i < found.count; i++)
        cse_kernel_destroy(&found.all[i].kernel);
    runner_clear(&run);
    cse_executable_destroy(&executable);
    cse_graph_destroy(&graph);
    cse_remove_tree(directory);
    return EXIT_SUCCESS;
}
