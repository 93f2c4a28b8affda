"""Samples by their number, from what an input function returns."""

import collections
import dataclasses
import random
import re

import torch
from torch.utils import _pytree as pytree
from torch.utils.data import (
    BatchSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    TensorDataset,
    default_collate,
)
from torch.utils.data import DataLoader as TorchDataLoader

from cstorch import messages

STREAM = "[A-Za-z_][A-Za-z0-9_]{0,60}"  # a key that may be the name of an input
UNKNOWN_BATCHES = 1 << 20  # of an iterable without a length


class Texts:
    """The place of a list of texts in a batch: a step cannot see them."""

    def __init__(self, name):
        self.__dict__["name"] = name

    def _refuse(self, *_):
        raise messages.TraceError(
            f"{messages.place_text()}{self.__dict__['name']} of the batch is a list of texts, which"
            " a step does not see: make a tensor of it in the data set",
            [messages.place()],
        )

    __getattr__ = __getitem__ = __iter__ = __len__ = __contains__ = __eq__ = __bool__ = _refuse
    __hash__ = None


def _is_texts(value):
    return isinstance(value, (list, tuple)) and bool(value) and isinstance(value[0], (str, bytes))


def leaves_of(batch):
    """Its tensors and other values in the order of BatchForm.leaves."""
    return pytree.tree_leaves(batch, is_leaf=_is_texts)


class BatchForm:
    """What a batch is: the structure, and type and shape of each tensor.

    Attributes:
        leaves: a Leaf for each tensor, Texts for a list of texts; other values as they are,
            constants of the step.
        names: of the leaves, as "1" or "images".
        streams: what the engine calls them: the keys of a dictionary; the leaves' numbers of others.
        spec: of torch's pytree.
    """

    @dataclasses.dataclass
    class Leaf:
        dtype: torch.dtype
        shape: tuple

    def __init__(self, batch):
        paths, self.spec = pytree.tree_flatten_with_path(batch, is_leaf=_is_texts)
        self.leaves = []
        self.names = []
        for path, value in paths:
            value = as_tensor(value)
            self.names.append(pytree.keystr(path).strip("[]'\"."))
            if isinstance(value, torch.Tensor) and value.dim() > 0:
                dtype = torch.float32 if value.dtype == torch.float64 else value.dtype
                self.leaves.append(self.Leaf(dtype, tuple(value.shape[1:])))
            elif _is_texts(value):
                self.leaves.append(Texts(self.names[-1]))
            else:
                self.leaves.append(value)
        by_name = len(set(self.names)) == len(self.names) and all(
            re.fullmatch(STREAM, name) for name in self.names
        )
        self.streams = self.names if by_name else [str(i) for i in range(len(self.names))]
        if not any(isinstance(leaf, self.Leaf) for leaf in self.leaves):
            raise TypeError("a batch has no tensor with a batch axis")


def as_tensor(value):
    """Arrays as tensors, whatever their strides and the order of their bytes."""
    if type(value).__module__ != "numpy" or not getattr(value, "shape", ()):
        return value
    if not value.dtype.isnative:
        value = value.astype(value.dtype.newbyteorder("="))
    return torch.from_numpy(value.copy() if min(value.strides) < 0 else value)


def _is_same(value, constant):
    """Whether a value without a batch axis is what the step has been traced with."""
    if isinstance(value, torch.Tensor) and isinstance(constant, torch.Tensor):
        return value.dtype == constant.dtype and torch.equal(value, constant)
    return type(value) is type(constant) and (value is constant or value == constant)


def seed_sample(seed, epoch, index):
    """Makes what chance decides about a sample a function of its number."""
    import numpy

    mixed = (seed * 1000003 + epoch) * 0x9E3779B97F4A7C15 + index * 0xBF58476D1CE4E5B9
    mixed &= (1 << 63) - 1
    random.seed(mixed)
    numpy.random.seed(mixed & 0xFFFFFFFF)
    # torch.manual_seed would look at every kind of accelerator, for each sample.
    torch.default_generator.manual_seed(mixed)


class SampleSource:
    """See the module.

    Attributes:
        batch_size: samples of a global batch.
        drops_last: whether samples that do not fill a batch are left out, as the loader says.
        shuffles: whether the engine shuffles the samples.
        form: BatchForm of its batches.
    """

    def __init__(self, input_fn, args=(), kwargs=None, seed=0):
        self.seed = seed
        self.loader = input_fn(*args, **(kwargs or {}))
        self.by_index = self._is_by_index(self.loader)
        self.shuffles = False
        self.drops_last = False
        self._iterator = None
        self._batches = collections.OrderedDict()
        if self.by_index:
            sampler = self.loader.sampler
            if self.loader.batch_size is None:
                sampler = self.loader.batch_sampler
            self.batch_size = self.loader.batch_size or sampler.batch_size
            self.shuffles = isinstance(sampler, RandomSampler) or getattr(sampler, "shuffle", False)
            self.drops_last = getattr(sampler, "leaves_out", self.loader.drop_last)
            self.form = BatchForm(self._collated([0], [0]))
        else:
            first = self._batch(0, 0)
            self.form = BatchForm(first)
            self.batch_size = self._rows_of(first)

    def _rows_of(self, batch):
        """Samples of a batch."""
        return next(
            as_tensor(v).shape[0]
            for v, leaf in zip(leaves_of(batch), self.form.leaves)
            if isinstance(leaf, BatchForm.Leaf)
        )

    @staticmethod
    def _is_by_index(loader):
        if not isinstance(loader, TorchDataLoader) or isinstance(loader.dataset, IterableDataset):
            return False
        if getattr(loader.batch_sampler, "is_in_order", False):
            return bool(loader.batch_sampler.batch_size) and hasattr(loader.dataset, "__len__")
        return (
            loader.batch_size is not None
            and hasattr(loader.dataset, "__len__")
            and type(loader.batch_sampler) is BatchSampler
            and (
                isinstance(loader.sampler, (SequentialSampler, RandomSampler))
                or getattr(loader.sampler, "is_in_order", False)
            )
            and not getattr(loader.sampler, "replacement", False)
        )

    def samples(self):
        """How many samples there are."""
        loader = self.loader
        if self.by_index:
            return len(loader.dataset)
        if isinstance(loader, (list, tuple)):
            return (len(loader) - 1) * self.batch_size + self._rows_of(loader[-1])
        if (
            isinstance(loader, TorchDataLoader)
            and loader.batch_size is not None
            and not loader.num_workers
            and hasattr(loader.dataset, "__len__")
        ):
            count = len(loader.dataset)
            return count - count % self.batch_size if loader.drop_last else count
        try:
            return len(loader) * self.batch_size
        except TypeError:
            return UNKNOWN_BATCHES * self.batch_size

    def batches(self):
        """Batches of an epoch, the last one included unless it is left out."""
        whole, left = divmod(self.samples(), self.batch_size)
        return whole + (left > 0 and not self.drops_last)

    # ---- reading ----

    def read(self, samples, epochs):
        """The tensors of the samples: one for each leaf of the form that is one."""
        batch = self._collated(samples, epochs) if self.by_index else self._rows(samples, epochs)
        values = []
        leaves = leaves_of(batch)
        if len(leaves) != len(self.form.leaves):
            raise ValueError(
                f"a batch has {len(self.form.leaves)} values at first, and {len(leaves)} of samples "
                f"{samples[0]} to {samples[-1]}: batches must have one structure"
            )
        for index, (value, leaf) in enumerate(zip(leaves, self.form.leaves)):
            name, value = self.form.names[index], as_tensor(value)
            if not isinstance(leaf, BatchForm.Leaf):
                if not isinstance(leaf, Texts) and not _is_same(value, leaf):
                    raise ValueError(
                        f"{name} of the batch is {leaf!r} at first and {value!r} for samples "
                        f"{samples[0]} to {samples[-1]}: what has no batch axis is a constant of "
                        "the step; give each sample its own"
                    )
                continue
            if tuple(value.shape[1:]) != leaf.shape:
                raise ValueError(
                    f"input {name} has the shape {list(leaf.shape)} in the first "
                    f"sample and {list(value.shape[1:])} in samples {samples[0]} to {samples[-1]}: "
                    "samples must have one shape; pad them"
                )
            values.append((self.form.streams[index], value))
        return values

    def _collated(self, samples, epochs):
        dataset, collate = self.loader.dataset, self.loader.collate_fn
        places = samples
        while type(dataset) is Subset:
            places = [dataset.indices[place] for place in places]
            dataset = dataset.dataset
        if type(dataset) is TensorDataset:
            # Its samples draw no random numbers; what collate_fn draws is a function of the last.
            seed_sample(self.seed, epochs[-1], samples[-1])
            if collate is default_collate:
                places = torch.as_tensor(places)
                return [tensor[places] for tensor in dataset.tensors]
            return collate([dataset[place] for place in places])
        if callable(getattr(dataset, "__getitems__", None)):
            seed_sample(self.seed, epochs[0], samples[0])
            return collate(dataset.__getitems__(places))
        items = []
        for place, index, epoch in zip(places, samples, epochs):
            seed_sample(self.seed, epoch, index)
            items.append(dataset[place])
        return collate(items)

    def _batch(self, epoch, number):
        """A batch of an iterable by its number: read from the beginning, and kept for the next
        microbatches."""
        key = (epoch, number)
        if key in self._batches:
            return self._batches[key]
        if self._iterator is None or self._at[0] != epoch or self._at[1] > number:
            seed_sample(self.seed, epoch, 0)
            self._iterator = iter(self.loader)
            self._at = (epoch, 0)
        while True:
            at = self._at[1]
            try:
                batch = next(self._iterator)
            except StopIteration:
                raise IndexError(
                    f"the data ended after {at} batches; batch {number} was asked for"
                ) from None
            self._at = (epoch, at + 1)
            if at == number:
                break
        self._batches[key] = batch
        while len(self._batches) > 4:
            self._batches.popitem(last=False)
        return batch

    def _rows(self, samples, epochs):
        parts = []
        begin = 0
        while begin < len(samples):
            number = samples[begin] // self.batch_size
            end = begin
            while (
                end < len(samples)
                and samples[end] // self.batch_size == number
                and epochs[end] == epochs[begin]
            ):
                end += 1
            rows = [s % self.batch_size for s in samples[begin:end]]
            batch = self._batch(epochs[begin], number)
            parts.append(
                pytree.tree_map(
                    lambda v, rows=rows: (
                        as_tensor(v)[rows] if getattr(as_tensor(v), "shape", ()) else v
                    ),
                    batch,
                    is_leaf=_is_texts,
                )
            )
            begin = end
        if len(parts) == 1:
            return parts[0]
        return pytree.tree_map(
            lambda *v: torch.cat(v) if isinstance(v[0], torch.Tensor) else v[0],
            *parts,
            is_leaf=_is_texts,
        )
