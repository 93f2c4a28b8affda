"""Whether a trainer ends before its last step."""


class EarlyExit:
    """trainer.early_exit.should_exit = True ends the training, or the validation, after the step in
    flight."""

    should_exit = False
