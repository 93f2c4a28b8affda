"""Accuracy on folders of pictures: the shipped lenet, resnet18 and vit, read from PNG and JPEG.

    image_accuracy.py [--csengine PATH] [--models lenet,resnet18,vit] [--formats png,jpg]
                      [--epochs N] [--work DIR]

Fashion-MNIST of Debian's dataset-fashion-mnist is written out as a folder for each class, 60,000
pictures to train and 10,000 to test. configs/NAME_fashion_mnist.yaml is trained as it stands but
for its data loaders, which read the folders by image_folder. One line of JSON for each: the
accuracy on the test pictures, and the seconds from the start of the command to its end, with
compilation and validation. --epochs takes fewer epochs than the configuration (a whole schedule is
not gone through then). Needs numpy, torch, pillow and safetensors; ends with 77 where one or the
data set is missing.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from image_parity import DATA, write_folder

CONFIGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "configs")
FOLDER = (
    "data_processor: image_folder, image_size: [28, 28], channels: 1, mean: [0.286], std: [0.353]"
)


def train(arguments, model, folder):
    run = f"{arguments.work}/{model}-{os.path.basename(folder)}"
    shutil.rmtree(run, ignore_errors=True)
    loader = "trainer.fit.{}={{{}, data_dir: {}, batch_size: {}, micro_batch_size: {}{}}}"
    command = [
        arguments.csengine,
        "start",
        f"{CONFIGS}/{model}_fashion_mnist.yaml",
        "--json",
        "--no_dashboard",
        "--model_dir",
        run,
        "--compile_dir",
        f"{arguments.work}/compiled",
        "--set",
        loader.format("train_dataloader", FOLDER, f"{folder}/train", 256, 64, ", shuffle: true"),
        "--set",
        loader.format("val_dataloader", FOLDER, f"{folder}/test", 250, 50, ""),
    ]
    if arguments.epochs:
        command += ["--set", f"trainer.init.loop.num_epochs={arguments.epochs}"]
    begin = time.perf_counter()
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    seconds = time.perf_counter() - begin
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return events, seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--csengine", default="csengine")
    parser.add_argument("--models", default="lenet,resnet18,vit")
    parser.add_argument("--formats", default="png,jpg")
    parser.add_argument("--epochs", type=int, default=None)
    parser.add_argument("--work", default=None)
    arguments = parser.parse_args()
    if not os.path.exists(DATA):
        print(f"skipped: {DATA} is not there (Debian's dataset-fashion-mnist)")
        sys.exit(77)
    arguments.work = arguments.work or tempfile.mkdtemp(prefix="accuracy")
    for kind in arguments.formats.split(","):
        folder = f"{arguments.work}/{kind}"
        if not os.path.exists(folder):
            write_folder(f"{folder}/train", kind, 60000)
            write_folder(f"{folder}/test", kind, 10000, "t10k")
        for model in arguments.models.split(","):
            events, seconds = train(arguments, model, folder)
            end = [e for e in events if e.get("event") == "end"][-1]
            print(
                json.dumps(
                    {
                        "model": model,
                        "format": kind,
                        "steps": end["steps"],
                        "accuracy": round(end["metrics"]["accuracy"], 4),
                        "seconds": round(seconds, 1),
                        "load": round(os.getloadavg()[0], 1),
                    }
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
