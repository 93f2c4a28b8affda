"""A client of a server's REST API (`csengine serve`)."""

import json
import time
import urllib.error
import urllib.parse
import urllib.request


class ClientError(RuntimeError):
    """The server refused a request.

    Attributes:
        code: of HTTP.
        detail: the members of the answer, as "title", "detail", "accepted".
    """

    def __init__(self, code, detail):
        self.code = code
        self.detail = detail
        super().__init__(f"{code}: {detail.get('detail') or detail.get('title') or detail}")


class Client:
    """Jobs of a server.

    Args:
        address: "http://127.0.0.1:8080".
        token: of the file `token` in the server's folder; None: none is needed.
    """

    def __init__(self, address, token=None, timeout=30):
        self.address = address.rstrip("/")
        self.token = token
        self.timeout = timeout

    def request(self, method, path, body=None, content_type="application/json", **query):
        """One request; returns what the JSON of the answer says. ClientError for codes from 400."""
        given = {k: v for k, v in query.items() if v is not None}
        address = self.address + path + ("?" + urllib.parse.urlencode(given) if given else "")
        data = (
            body.encode()
            if isinstance(body, str)
            else (None if body is None else json.dumps(body).encode())
        )
        request = urllib.request.Request(address, data=data, method=method)
        if data is not None:
            request.add_header("Content-Type", content_type)
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as answer:
                content = answer.read()
        except urllib.error.HTTPError as error:
            content = error.read()
            try:
                detail = json.loads(content)
            except ValueError:
                detail = {"detail": content.decode(errors="replace")}
            raise ClientError(error.code, detail) from None
        return json.loads(content) if content else None

    def version(self):
        return self.request("GET", "/api/v1/version")

    def submit(self, config, **members):
        """Puts a job into the queue; `config` is the text of a YAML file. Members as those of the
        API's JobSpec: name, labels, priority, overrides, resources, restart_policy. Returns a Job.
        """
        return Job(self, self.request("POST", "/api/v1/jobs", {"config": config, **members}))

    def jobs(self, **query):
        """Jobs, newest first."""
        found = self.request("GET", "/api/v1/jobs", **query)
        return [Job(self, one) for one in found.get("jobs", found.get("items", []))]

    def job(self, job_id):
        return Job(self, self.request("GET", f"/api/v1/jobs/{urllib.parse.quote(job_id)}"))

    def validate(self, config):
        """Checks a configuration; nothing is started."""
        return self.request("POST", "/api/v1/config:validate", config, "application/yaml")


class Job:
    """A job of a server. `data` is what the server said of it last."""

    def __init__(self, client, data):
        self.client = client
        self.data = data

    @property
    def id(self):
        return self.data["id"]

    @property
    def state(self):
        return self.data.get("state", "")

    def _path(self, *more):
        return "/".join(["/api/v1/jobs", urllib.parse.quote(self.id), *map(str, more)])

    def refresh(self):
        """Asks for its state again."""
        self.data = self.client.request("GET", self._path())
        return self

    def _act(self, word, **query):
        return self.client.request("POST", self._path(word), {} if not query else query)

    def pause(self):
        return self._act("pause")

    def resume(self):
        return self._act("resume")

    def cancel(self):
        return self._act("cancel")

    def kill(self):
        return self._act("kill")

    def checkpoint(self):
        """Writes a checkpoint after the step in flight, and goes on."""
        return self._act("checkpoint")

    def scale(self, num_csx):
        return self._act("scale", num_csx=num_csx)

    def metrics(self, *names, **query):
        """Series by name (all without names)."""
        return self.client.request(
            "GET", self._path("metrics"), names=",".join(names) or None, **query
        )

    def checkpoints(self):
        return self.client.request("GET", self._path("checkpoints"))

    def wait(self, timeout=None, every=0.5):
        """Waits for its end; returns its state."""
        from csengine.runs import ENDED

        begun = time.monotonic()
        while self.refresh().state not in ENDED:
            if timeout is not None and time.monotonic() - begun > timeout:
                raise TimeoutError(f"job {self.id} is still {self.state}")
            time.sleep(every)
        return self.state

    def __repr__(self):
        return f"csengine.Job({self.id!r}, {self.state})"
