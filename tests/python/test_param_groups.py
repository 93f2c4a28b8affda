"""The groups in an optimizer's state_dict(), beside those of PyTorch: saved, loaded, refused."""

import copy
import os
import unittest
import warnings

import torch

import cstorch
from call_pair import OwnRule
from programs import Case, loader

X = torch.randn(16, 3, generator=torch.Generator().manual_seed(1))
KINDS = {
    "engine": lambda groups, lr=0.1: cstorch.optim.SGD(groups, lr=lr, momentum=0.5),
    "own": lambda groups, lr=0.1: OwnRule(groups, lr=lr),
}
FORMS = ("lazily", "at once", "torch", "copy", "itself")


class Groups(Case):
    def made(self, make, split=False):
        """A new session with a model and an optimizer, of a group for each parameter if split."""
        cstorch.finish()
        self.configure(no_run_store=True)
        torch.manual_seed(3)
        self.model = torch.nn.Linear(3, 2)
        self.first = copy.deepcopy(self.model)
        cstorch.compile(self.model)
        parameters = list(self.model.parameters())
        return make([{"params": [p]} for p in parameters] if split else parameters)

    def step(self, optimizer):
        @cstorch.trace
        def train(batch):
            loss = self.model(batch[0]).square().mean()
            cstorch.amp.optimizer_step(loss, optimizer)
            return loss

        self.run_step(train, loader(X, batch_size=16), 1, checkpoint_steps=1)

    def through(self, state_dict, form):
        path = os.path.join(self.folder, "saved")
        if form in ("lazily", "at once"):
            cstorch.save({"optimizer": state_dict}, path)
            location = "cpu" if form == "at once" else None
            return cstorch.load(path, map_location=location)["optimizer"]
        if form == "torch":
            torch.save(state_dict, path)
            return torch.load(path)
        return copy.deepcopy(state_dict) if form == "copy" else state_dict

    def test_they_are_as_in_torch(self):
        def make(kind):
            return lambda groups: kind(
                [groups[0], {**groups[1], "lr": 0.5}], lr=0.1, betas=(0.8, 0.9), weight_decay=0.25
            )

        optimizer = self.made(make(cstorch.optim.AdamW), split=True)
        twin = make(torch.optim.AdamW)([{"params": [p]} for p in self.first.parameters()])
        found = optimizer.state_dict()["param_groups"]
        for group, wanted in zip(found, twin.state_dict()["param_groups"], strict=True):
            shared = set(group) & set(wanted)
            self.assertTrue({"params", "lr", "betas", "eps", "weight_decay"} <= shared, shared)
            self.assertEqual({k: group[k] for k in shared}, {k: wanted[k] for k in shared})
        self.assertEqual([g["param_names"] for g in found], [["weight"], ["bias"]])

    def test_a_state_dict_is_a_dictionary(self):
        for kind, make in KINDS.items():
            for form in FORMS:
                with self.subTest(kind, form=form):
                    state_dict = self.through(self.made(make).state_dict(), form)
                    self.assertEqual(list(state_dict), ["state", "param_groups"])
                    self.assertEqual(len(state_dict), 2)
                    self.assertEqual(list(state_dict.keys()), list(dict(state_dict)))
                    self.assertEqual([k for k, _ in state_dict.items()], list(state_dict))
                    self.assertTrue("param_groups" in state_dict and "lr" not in state_dict)
                    self.assertIsNone(state_dict.get("lr"))
                    (group,) = state_dict["param_groups"]
                    self.assertEqual(group["params"], [0, 1])
                    self.assertEqual(set(state_dict["state"]), set(group["param_names"]))
                    with self.assertRaises(KeyError):
                        state_dict["lr"]

    def test_a_rate_that_was_set_by_hand_is_there_after_a_load(self):
        """Also in the steps, beside what the same rate gives without a load."""
        for kind, make in KINDS.items():
            for form in FORMS:
                for again in (False, True):
                    with self.subTest(kind, form=form, again=again):
                        optimizer = self.made(make)
                        optimizer.param_groups[0]["lr"] = 0.01
                        if form == "itself" and again:
                            continue  # it has the states of its session
                        saved = self.through(optimizer.state_dict(), form)
                        if again:
                            optimizer = self.made(make)
                        optimizer.param_groups[0]["lr"] = 0.7
                        optimizer.load_state_dict(saved)
                        self.assertEqual(optimizer.param_groups[0]["lr"], 0.01)
                        self.step(optimizer)
                        found = self.model.weight.detach().clone()
                        self.step(self.made(lambda groups, make=make: make(groups, lr=0.01)))
                        self.assertTrue(torch.equal(found, self.model.weight))

    def test_a_change_of_a_state_dict_is_loaded(self):
        for kind, make in KINDS.items():
            with self.subTest(kind):
                optimizer = self.made(make)
                state_dict = optimizer.state_dict()
                state_dict["param_groups"][0]["lr"] = 0.125
                self.assertEqual(optimizer.param_groups[0]["lr"], 0.1)
                optimizer.param_groups[0]["lr"] = 3.0
                self.assertEqual(state_dict["param_groups"][0]["lr"], 0.125)
                optimizer.load_state_dict(state_dict)
                self.assertEqual(optimizer.param_groups[0]["lr"], 0.125)

    def test_groups_that_do_not_fit_are_refused_by_name(self):
        for kind, make in KINDS.items():
            with self.subTest(kind):
                optimizer = self.made(make, split=True)
                saved = copy.deepcopy(optimizer.state_dict())
                before = copy.deepcopy(optimizer.state_dict()["param_groups"])
                for change, pattern in (
                    (lambda g: g.pop(), "1 groups were saved, and there are 2"),
                    (lambda g: g.reverse(), r"groups\[0\] was saved with bias; has here weight"),
                    (lambda g: g[1].update(param_names=["x"]), r"\[1\] was saved with x; has here"),
                    (
                        lambda g: [g[0].pop("param_names"), g[0].update(params=[0, 1])],
                        "saved with 2 parameters, and has 1",
                    ),
                    (lambda g: g.append(3), "are no list of dictionaries"),
                ):
                    other = copy.deepcopy(saved)
                    other["param_groups"][0]["lr"] = 9.0
                    change(other["param_groups"])
                    with self.assertRaisesRegex((ValueError, TypeError), pattern):
                        optimizer.load_state_dict(other)
                    self.assertEqual(optimizer.state_dict()["param_groups"], before)

    def test_settings_that_the_engines_optimizer_has_not(self):
        optimizer = self.made(KINDS["engine"])
        saved = copy.deepcopy(optimizer.state_dict())
        for change, pattern in (
            ({"momentun": 0.5}, r"groups\[0\] has no argument 'momentun'; did you mean 'momentum'"),
            ({"lr": -1.0}, r"groups\[0\].*lr"),
        ):
            other = copy.deepcopy(saved)
            other["param_groups"][0].update(change)
            with self.assertRaisesRegex((ValueError, TypeError), pattern):
                optimizer.load_state_dict(other)
        self.assertEqual(optimizer.param_groups[0]["lr"], 0.1)

    def test_a_setting_that_the_engine_keeps(self):
        """It is taken over before the engine has made the optimizer, and refused from then on."""
        saved = copy.deepcopy(self.made(KINDS["engine"]).state_dict())
        optimizer = self.made(lambda groups: cstorch.optim.SGD(groups, lr=0.1, momentum=0.9))
        optimizer.load_state_dict(saved)
        self.assertEqual(optimizer.param_groups[0]["momentum"], 0.5)
        for _ in range(2):
            self.step(optimizer)
        found = self.model.weight.detach().clone()
        optimizer = self.made(KINDS["engine"])
        for _ in range(2):
            self.step(optimizer)
        self.assertTrue(torch.equal(found, self.model.weight))
        saved["param_groups"][0].update(lr=0.3, momentum=0.9)
        with self.assertRaisesRegex(ValueError, "with momentum=0.9, and the engine has made.* 0.5"):
            optimizer.load_state_dict(saved)
        self.assertEqual(optimizer.param_groups[0]["lr"], 0.1)

    def test_a_refused_load_leaves_the_groups(self):
        for kind, make in KINDS.items():
            with self.subTest(kind):
                saved = copy.deepcopy(self.made(make).state_dict())
                saved["param_groups"][0]["lr"] = 0.7
                del saved["state"]["weight"]
                optimizer = self.made(make)
                with self.assertRaisesRegex(ValueError, "it lacks weight"):
                    optimizer.load_state_dict(saved)
                self.assertEqual(optimizer.param_groups[0]["lr"], 0.1)

    def test_a_checkpoint_without_groups_loads(self):
        """What was changed by hand stays, which is told; else there is nothing to tell."""
        for kind, make in KINDS.items():
            with self.subTest(kind):
                optimizer = self.made(make)
                saved = copy.deepcopy(optimizer.state_dict())
                del saved["param_groups"]
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    optimizer.load_state_dict(saved)
                optimizer.param_groups[0]["lr"] = 0.01
                with self.assertWarnsRegex(
                    UserWarning, r"no param_groups, so lr of param_groups\[0\] stays 0.01$"
                ):
                    optimizer.load_state_dict(saved)
                self.assertEqual(optimizer.param_groups[0]["lr"], 0.01)

    def test_settings_of_any_type(self):
        """Those of an own optimizer, whose names are the program's."""
        values = {
            "rate": torch.tensor([0.5, 0.1]),
            "ends": (1, [2.5, "x"], None),
            "table": {"a": 1},
            "kind": torch.bfloat16,
        }

        def make(groups):
            optimizer = KINDS["own"](groups)
            optimizer.param_groups[0].update(values)
            return optimizer

        for form in FORMS:
            with self.subTest(form):
                optimizer = self.made(make)
                saved = self.through(optimizer.state_dict(), form)
                optimizer.param_groups[0].update(dict.fromkeys(values))
                optimizer.load_state_dict(saved)
                self.assertEqual(str(optimizer.param_groups[0]["rate"]), str(values["rate"]))
                self.assertIs(type(optimizer.param_groups[0]["rate"]), torch.Tensor)
                for name in ("ends", "table", "kind"):
                    self.assertEqual(optimizer.param_groups[0][name], values[name])
        optimizer.param_groups[0]["rule"] = lambda step: step
        with self.assertWarnsRegex(UserWarning, r"no 'rule' of param_groups\[0\].*function"):
            cstorch.save(optimizer.state_dict(), os.path.join(self.folder, "x"))

    def test_settings_of_one_that_was_saved_again(self):
        for kind, make in KINDS.items():
            with self.subTest(kind):
                optimizer = self.made(make)
                once = self.through(optimizer.state_dict(), "lazily")
                wanted = copy.deepcopy(once["param_groups"])
                path = os.path.join(self.folder, "again")
                cstorch.save({"optimizer": once}, path)
                again = cstorch.load(path)["optimizer"]
                self.assertEqual(again["param_groups"], wanted)
                optimizer.load_state_dict(again)


if __name__ == "__main__":
    unittest.main()
