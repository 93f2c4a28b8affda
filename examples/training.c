/* Training: a model, an optimizer, a schedule, loss scaling, a loop, checkpoints.
 *
 * It follows the reference API's full training example step by step, with an input function and a
 * loop of its own. Input workers are processes of their own, which load the input function from a
 * shared object: LIBRARY, compiled of examples/outside/custom_training.c.
 * `training LIBRARY [CHECKPOINT [LOSS_SCALE]]` continues from a checkpoint if one is given ("-":
 * none); a loss scale of 0 trains without a gradient scaler. training.yaml is the same training as
 * a configuration, with the same bits. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"

enum { NUM_STEPS = 200, CHECKPOINT_STEPS = 100 };

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
    cse_schedule *lr_scheduler;
    cse_grad_scaler *grad_scaler; /* NULL: none */
    cse_output *loss;
} training;

/* The keys are the program's own choice. With these cse_load could load the file as well. */
static cse_status save_checkpoint(const training *t, int64_t step)
{
    char checkpoint_file[64];
    snprintf(checkpoint_file, sizeof checkpoint_file, "checkpoint_%" PRId64 ".mdl", step);

    cse_tree *state_dict = cse_tree_new();
    cse_tree_set_part(state_dict, "model", CSE_PART_MODEL);
    cse_tree_set_part(state_dict, "optimizer", CSE_PART_OPTIMIZER);
    if (t->lr_scheduler != NULL)
        cse_tree_set_part(state_dict, "schedulers", CSE_PART_SCHEDULE);
    if (t->grad_scaler != NULL)
        cse_tree_set_part(state_dict, "grad_scaler", CSE_PART_GRAD_SCALER);
    cse_tree_set_integer(state_dict, "global_step", step);

    cse_status status = cse_save_tree(state_dict, checkpoint_file);
    cse_tree_destroy(&state_dict);
    return status;
}

static cse_status load_parts(const training *t, cse_saved *state_dict)
{
    int64_t global_step;
    CSE_TRY(cse_load_part(state_dict, "model", CSE_PART_MODEL));
    CSE_TRY(cse_load_part(state_dict, "optimizer", CSE_PART_OPTIMIZER));
    if (t->lr_scheduler != NULL)
        CSE_TRY(cse_load_part(state_dict, "schedulers", CSE_PART_SCHEDULE));
    if (t->grad_scaler != NULL)
        CSE_TRY(cse_load_part(state_dict, "grad_scaler", CSE_PART_GRAD_SCALER));
    CSE_TRY(cse_saved_integer(state_dict, "global_step", &global_step));
    return cse_set_global_step(global_step);
}

/* Only what the session has is read of the file. */
static cse_status load_checkpoint(const training *t, const char *checkpoint_path)
{
    cse_saved *state_dict = NULL;
    CSE_TRY(cse_saved_open(checkpoint_path, &state_dict));
    cse_status status = load_parts(t, state_dict);
    cse_saved_close(&state_dict);
    return status;
}

/* Called once, for tracing; the traced operations run in every step. */
static cse_tensor *training_step(cse_step *step, void *self)
{
    training *t = self;
    cse_tensor *inputs = cse_input(step, "points");  /* [batch, 2] float32 */
    cse_tensor *targets = cse_input(step, "labels"); /* [batch] int32 */
    cse_tensor *outputs = cse_forward(t->model, inputs);
    cse_tensor *loss = cse_cross_entropy(outputs, targets);

    cse_optimizer_step(step, loss, t->optimizer, t->grad_scaler, &(cse_clip){ .max_norm = 1.0 });

    t->loss = cse_step_output(step, NULL, loss);
    return loss;
}

static void post_training_step(const training *t)
{
    printf("Loss: %g\n", cse_output_number(t->loss));
}

/* Each call before this one may have failed: the first failure arrives here. */
static cse_status train(training *t, const char *library)
{
    char train_input[4352];
    snprintf(train_input, sizeof train_input,
             "{library: \"%s\", data_processor: circles, samples: 4096, batch_size: 128, "
             "micro_batch_size: 32, shuffle: true}",
             library);
    cse_executor *executor = cse_executor_new(&(cse_executor_options){
        .input = train_input,
        .num_steps = NUM_STEPS,
        .checkpoint_steps = CHECKPOINT_STEPS,
        .activation_steps = 20,
    });
    cse_status saved = CSE_OK;
    cse_loop *loop = cse_execution_begin(executor, training_step, t);
    while (saved == CSE_OK && cse_execution_next(loop, -1) == CSE_NEXT_STEP) {
        if (cse_execution_at_activation(loop))
            post_training_step(t);

        /* States can be saved on predetermined steps alone. */
        if (cse_execution_at_checkpoint(loop))
            saved = save_checkpoint(t, cse_execution_step(loop));
    }
    cse_status status = cse_execution_end(&loop);
    return saved != CSE_OK ? saved : status;
}

int main(int argc, char **argv)
{
    const char *checkpoint_path = argc > 2 && strcmp(argv[2], "-") != 0 ? argv[2] : NULL;
    const double loss_scale = argc > 3 ? strtod(argv[3], NULL) : -1;
    if (argc < 2) {
        fprintf(stderr, "usage: training LIBRARY [CHECKPOINT [LOSS_SCALE]]\n");
        return cse_status_exit_code(CSE_USAGE);
    }

    /* The first call; once per process. */
    cse_configure(&(cse_configuration){ .model_dir = ".", .num_csx = 2, .seed = 1 });

    cse_model *model =
        cse_model_new("fc_mnist", "{input_size: 2, hidden_sizes: [64, 32], num_classes: 2}");
    training self = { .model = cse_compile(model) };
    self.optimizer = cse_configure_optimizer("SGD", model, "{momentum: 0.9}");
    self.lr_scheduler = cse_configure_schedule(
        self.optimizer, "{scheduler: CosineDecayLR, initial_learning_rate: 0.1, "
                        "end_learning_rate: 0.01, total_iters: 200}");
    if (loss_scale != 0.0)
        self.grad_scaler = cse_grad_scaler_new("{loss_scale: dynamic}");

    /* Load a checkpoint if one is given. */
    cse_status status = CSE_OK;
    if (checkpoint_path != NULL)
        status = load_checkpoint(&self, checkpoint_path);
    if (status == CSE_OK)
        status = train(&self, argv[1]);
    if (status != CSE_OK)
        fprintf(stderr, "training: %s\n", cse_error_message());
    cse_finish();
    return cse_status_exit_code(status);
}
