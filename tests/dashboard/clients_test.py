"""Starts a server over a run that has a bit of everything, and the programs of check_clients.sh."""
import subprocess
import sys

import support
from support import Server, check, equal

NODE, WORK = sys.argv[1:3]


def programs_with_generated_clients_work():
    folder = support.folder()
    config = support.configuration(300, checkpoint=100)
    with open(f"{folder}/config.yaml", "w") as f:
        f.write(config.replace("    seed: 1\n", "    seed: 1\n    numerics: { every: 100 }\n"))
    run = subprocess.run(
        [support.EXECUTABLE, "start", f"{folder}/config.yaml", "--model_dir", f"{folder}/run1", "--no_dashboard"],
        capture_output=True, timeout=120 * support.SLOW,
    )
    equal(run.returncode, 0, run.stderr.decode())
    server = Server("--run", f"{folder}/run1")
    token = server.authorization["Authorization"].split()[1]
    try:
        for command in ([NODE, "program.js"], ["venv/bin/python", "program.py"]):
            done = subprocess.run([*command, server.url, "run1", token], cwd=WORK, capture_output=True, timeout=120)
            print(done.stdout.decode(), end="")
            check(done.returncode == 0, command, done.stdout.decode(), done.stderr.decode()[-1500:])
    finally:
        server.stop()


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    support.main([programs_with_generated_clients_work])
