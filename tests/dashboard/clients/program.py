"""A program of a user: its client comes from openapi-python-client.

Usage: program.py URL JOB TOKEN, with the generated package csengine_client beside it."""
import json
import sys

import csengine_client.models as models
from csengine_client import AuthenticatedClient
from csengine_client.api.config import validate_config
from csengine_client.api.control import pause_job
from csengine_client.api.data import get_graph, get_metrics, get_numerics, get_precision, list_tensors
from csengine_client.api.jobs import get_job, list_jobs, list_transitions
from csengine_client.api.live import list_logs, stream_events
from csengine_client.api.sweeps import create_sweep, get_sweep, list_sweeps

MESSAGES = {
    "state": models.StateMessage, "metric": models.MetricMessage, "closure": models.ClosureMessage,
    "checkpoint": models.CheckpointMessage, "log": models.LogMessage, "topology": models.TopologyMessage,
    "numerics": models.NumericsMessage, "phase": models.PhaseMessage, "gap": models.GapMessage, "end": models.EndMessage,
}


def read_jobs(client, id):
    states = [models.State.SUCCEEDED, models.State.RUNNING]
    found = [job for job in list_jobs.sync(client=client, state=states, limit=5).jobs if job.id == id]
    assert len(found) == 1 and found[0].state == models.State.SUCCEEDED, found
    assert found[0].store_failure is None and found[0].progress.step > 0, found
    none = get_job.sync("none", client=client)
    assert isinstance(none, models.Problem) and none.status == 404, none
    assert list_transitions.sync(id, client=client).transitions[-1].to == models.State.SUCCEEDED
    answer = pause_job.sync(id, client=client, body=models.ReasonRequest(message="now"))
    assert isinstance(answer, (models.CommandResult, models.Problem)), answer
    body = models.ValidateRequest(config="trainer: 3", depth=models.ValidateRequestDepth.SETTINGS)
    checked = validate_config.sync(client=client, body=body)
    assert not checked.valid and checked.diagnostics[0].line == 1, checked


def read_data(client, id):
    graph = get_graph.sync(id, client=client)
    assert all(i < len(graph.nodes) for node in graph.nodes for i in node.inputs)
    precision = get_precision.sync(id, client=client)
    assert len(precision.ops) == precision.totals.ops
    (loss,) = get_metrics.sync(id, client=client, names=["loss"], max_points=10).series
    assert 5 < len(loss.step) <= 10 and len(loss.mean) == len(loss.step), loss
    tensors = {one.id for one in list_tensors.sync(id, client=client).tensors}
    records = get_numerics.sync(id, client=client).records
    assert records and all(one.tensor in tensors for one in records)
    assert all(json.loads(line)["level"] for line in list_logs.sync(id, client=client).splitlines())


def read_sweeps(client):
    found = list_sweeps.sync(client=client)
    assert found.total == 0 and found.sweeps == [] and found.unreadable == [], found
    none = get_sweep.sync("none", client=client)
    assert isinstance(none, models.Problem) and none.status == 404, none
    spec = models.SweepSpec.from_dict({"name": "a", "config": "trainer: {}", "trials": 2, "parameters": {"seed": [1, 2]}})
    refused = create_sweep.sync(client=client, body=spec)
    assert isinstance(refused, models.Problem) and refused.status == 501, refused


def read_events(client, id):
    text = stream_events.sync(id, client=client, after=0)
    seen = set()
    for line in text.splitlines():
        if line.startswith("data: "):
            data = json.loads(line[6:])
            event = MESSAGES[data["type"]].from_dict(data)
            assert event.to_dict() == data, data
            seen.add(event.type_.value)
    assert {"state", "metric", "log", "end"} <= seen, seen


with AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[3], raise_on_unexpected_status=True) as the_client:
    read_jobs(the_client, sys.argv[2])
    read_data(the_client, sys.argv[2])
    read_sweeps(the_client)
    read_events(the_client, sys.argv[2])
print("python: jobs, data and events by their types")
