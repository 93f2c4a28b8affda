"""The part of MLflow's REST API that a logger uses, in memory: mlflow_server.py PORT_FILE STATE_FILE
[FAULTS [SECONDS]]. The first FAULTS requests are answered 503, and each waits SECONDS."""
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs

port_file, state_file = sys.argv[1:3]
faults = int(sys.argv[3]) if len(sys.argv) > 3 else 0
seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 0
state = {"experiments": {}, "runs": {}, "requests": 0, "tokens": []}


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, code, body):
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        with open(state_file + ".new", "w") as file:
            json.dump(state, file)
        os.replace(state_file + ".new", state_file)

    def handle_request(self, body):
        global faults
        time.sleep(seconds)
        state["requests"] += 1
        state["tokens"].append(self.headers.get("Authorization"))
        if faults > 0:
            faults -= 1
            return self.answer(503, {"error_code": "TEMPORARILY_UNAVAILABLE"})
        path, _, query = self.path.partition("?")
        path = path.removeprefix("/api/2.0/mlflow/")
        if path == "experiments/get-by-name":
            name = parse_qs(query)["experiment_name"][0]
            if name not in state["experiments"]:
                return self.answer(404, {"error_code": "RESOURCE_DOES_NOT_EXIST"})
            return self.answer(200, {"experiment": {"experiment_id": state["experiments"][name]}})
        if path == "experiments/create":
            state["experiments"][body["name"]] = str(len(state["experiments"]) + 1)
            return self.answer(200, {"experiment_id": state["experiments"][body["name"]]})
        if path == "runs/create":
            run_id = f"run{len(state['runs']) + 1}"
            state["runs"][run_id] = dict(body, metrics=[], params=[], status="RUNNING")
            return self.answer(200, {"run": {"info": {"run_id": run_id}}})
        if path not in ("runs/log-batch", "runs/update") or body["run_id"] not in state["runs"]:
            return self.answer(404, {"error_code": "RESOURCE_DOES_NOT_EXIST"})
        run = state["runs"][body["run_id"]]
        if path == "runs/update":
            run["status"] = body["status"]
            return self.answer(200, {"run_info": {"run_id": body["run_id"]}})
        assert len(body.get("metrics", [])) <= 1000
        run["metrics"] += body.get("metrics", [])
        run["params"] += body.get("params", [])
        return self.answer(200, {})

    def do_GET(self):
        self.handle_request(None)

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        self.handle_request(json.loads(self.rfile.read(length)))


server = HTTPServer(("127.0.0.1", 0), Handler)
with open(port_file + ".new", "w") as file:
    file.write(str(server.server_address[1]))
os.replace(port_file + ".new", port_file)
server.serve_forever()
