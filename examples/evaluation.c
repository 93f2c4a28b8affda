/* Evaluation: a model from a checkpoint, its mean loss and its accuracy.
 *
 * It follows the reference API's full evaluation example, without optimizer and gradient scaler,
 * with an input function and a loop of its own. `evaluation LIBRARY CHECKPOINT` evaluates what
 * examples/training.c saved: of the file only the model is read. LIBRARY is as there. */
#include <stdio.h>

#include "csengine/csengine.h"

typedef struct evaluation {
    cse_model *model;
    cse_metric *accuracy;
    cse_output *loss;
    double total_loss;
    int total_steps;
} evaluation;

/* Called once, for tracing; the traced operations run in every step. */
static cse_tensor *evaluation_step(cse_step *step, void *self)
{
    evaluation *e = self;
    cse_tensor *inputs = cse_input(step, "points");  /* [batch, 2] float32 */
    cse_tensor *targets = cse_input(step, "labels"); /* [batch] int32 */
    cse_tensor *outputs = cse_forward(e->model, inputs);
    cse_tensor *loss = cse_cross_entropy(outputs, targets);

    cse_metric_update(e->accuracy, targets, cse_argmax(outputs, -1));

    e->loss = cse_step_output(step, NULL, loss);
    return loss;
}

static void post_eval_step(evaluation *e)
{
    e->total_loss += cse_output_number(e->loss);
    e->total_steps++;
}

static cse_status load_model(const char *path)
{
    cse_saved *state_dict = NULL;
    CSE_TRY(cse_saved_open(path, &state_dict));
    cse_status status = cse_load_part(state_dict, "model", CSE_PART_MODEL);
    cse_saved_close(&state_dict);
    return status;
}

static cse_status evaluate(evaluation *e, const char *library)
{
    char eval_input[4352];
    snprintf(eval_input, sizeof eval_input,
             "{library: \"%s\", data_processor: circles, samples: 1024, radii: [1.25, 1.75], "
             "batch_size: 128, micro_batch_size: 32}",
             library);
    cse_executor *executor = cse_executor_new(&(cse_executor_options){
        .input = eval_input,
        .num_steps = 8,
    });
    cse_loop *loop = cse_execution_begin(executor, evaluation_step, e);
    while (cse_execution_next(loop, -1) == CSE_NEXT_STEP)
        post_eval_step(e);
    return cse_execution_end(&loop);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: evaluation LIBRARY CHECKPOINT\n");
        return cse_status_exit_code(CSE_USAGE);
    }
    cse_configure(&(cse_configuration){ .model_dir = ".", .num_csx = 2, .seed = 1 });

    evaluation self = { .model = cse_compile(cse_model_new(
                            "fc_mnist", "{input_size: 2, hidden_sizes: [64, 32], num_classes: 2}")),
                        .accuracy = cse_metric_new("accuracy", "accuracy") };
    cse_eval_mode(self.model);

    double accuracy = 0;
    cse_status status = load_model(argv[2]);
    if (status == CSE_OK)
        status = evaluate(&self, argv[1]);
    if (status == CSE_OK)
        status = cse_metric_value(self.accuracy, &accuracy);
    if (status == CSE_OK)
        printf("Eval Loss: %g\nEval Accuracy: %g\n", self.total_loss / self.total_steps, accuracy);
    else
        fprintf(stderr, "evaluation: %s\n", cse_error_message());
    cse_finish();
    return cse_status_exit_code(status);
}
