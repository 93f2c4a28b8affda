"""A trainer with the names of the ModelZoo's, without a checkout of it.

    from cstorch.trainer import Trainer
    from cstorch.trainer.callbacks import Checkpoint, MixedPrecision, TrainingLoop

    trainer = Trainer(
        device="CSX",
        model_dir="model_dir",
        model=make_model,
        optimizer=lambda model: cstorch.optim.AdamW(model.parameters(), lr=1e-3),
        precision=MixedPrecision(fp16_type="bfloat16"),
        loop=TrainingLoop(num_steps=1000, eval_frequency=100),
        checkpoint=Checkpoint(steps=100),
        seed=1,
    )
    trainer.fit(train_dataloader, val_dataloader)

It is a loop over cstorch's own executions: what a program may write around a step, a callback may
do in a hook. A model takes a batch and returns its loss, or a dictionary with the key "loss".
"""

from cstorch.trainer.trainer import Trainer

__all__ = ["Trainer"]
