"""A small training without PyTorch, as a configuration."""


def configuration(num_steps, checkpoint_steps):
    """Three classes of 300 made points, in batches of three microbatches."""
    return {
        "trainer": {
            "init": {
                "model": {
                    "name": "fc_mnist",
                    "input_size": 8,
                    "hidden_sizes": [16],
                    "num_classes": 3,
                },
                "optimizer": {"SGD": {"lr": 0.1}},
                "loop": {"num_steps": num_steps},
                "checkpoint": {"steps": checkpoint_steps},
                "seed": 1,
            },
            "fit": {
                "train_dataloader": {
                    "data_processor": "synthetic",
                    "samples": 300,
                    "features": [8],
                    "classes": 3,
                    "batch_size": 30,
                    "micro_batch_size": 10,
                }
            },
        }
    }
