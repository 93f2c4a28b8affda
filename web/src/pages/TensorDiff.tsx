/* What differs between two checkpoints, tensor by tensor, as the server computes it from the files;
 * a page of tensors at a time. */
import { useEffect, useState } from "preact/hooks";
import { api, type CheckpointDiff, type TensorDiff as Tensor } from "@generated/client";
import type { ApiError } from "@/api/transport";
import { integer, number, percent } from "@/base/format";
import { Failure, Loading } from "@/components/parts";

const PAGE = 200;

const COLUMNS: readonly [text: string, title: string][] = [
  ["Type", "type and shape of the tensor"],
  ["Differ", "share of the elements whose bits differ"],
  ["Largest difference", "|a − b|"],
  ["Largest relative", "|a − b| / max(|a|, |b|)"],
];

function wordsOf(one: Tensor): string {
  if (one.kind === "only_first") return "only in the first";
  if (one.kind === "only_second") return "only in the second";
  const second = `${one.second_dtype} ${one.second_shape}`;
  return `${second} in the second`;
}

function Values({ one }: { one: Tensor }) {
  if (one.kind !== "values")
    return (
      <td colSpan={3} class="soft">
        {wordsOf(one)}
      </td>
    );
  const elements = Math.max(1, one.elements ?? 0);
  return (
    <>
      <td class="number" title={`${integer(one.differing)} of ${integer(one.elements)} elements`}>
        {percent((one.differing ?? 0) / elements)}
        {(one.non_finite ?? 0) > 0 && ` (${integer(one.non_finite)} not finite)`}
      </td>
      <td class="number">{number(one.max_absolute)}</td>
      <td class="number">{number(one.max_relative)}</td>
    </>
  );
}

function Table({ tensors }: { tensors: Tensor[] }) {
  return (
    <table data-part="tensors">
      <thead>
        <tr>
          <th scope="col">Tensor</th>
          {COLUMNS.map(([text, title], i) => (
            <th key={text} scope="col" title={title} class={i > 0 ? "number" : ""}>
              {text}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {tensors.map((one) => (
          <tr key={one.name}>
            <th scope="row">
              <code>{one.name}</code>
            </th>
            <td class="nowrap soft">
              {one.dtype ?? one.second_dtype} {one.shape ?? one.second_shape}
            </td>
            <Values one={one} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function TensorDiff({ job, a, b }: { job: string; a: number; b: number }) {
  const [pages, setPages] = useState<CheckpointDiff[]>([]);
  const [error, setError] = useState<ApiError | undefined>();
  const [busy, setBusy] = useState(true);
  const token = pages[pages.length - 1]?.next_page_token ?? null;
  const read = (before: CheckpointDiff[], page_token?: string) => {
    let wanted = true;
    setBusy(true);
    setError(undefined);
    api
      .diffCheckpoints({
        id: job,
        step: a,
        with: b,
        limit: PAGE,
        ...(page_token && { page_token }),
      })
      .then(
        (page) => wanted && setPages([...before, page]),
        (failure: ApiError) => wanted && setError(failure),
      )
      .finally(() => wanted && setBusy(false));
    return () => {
      wanted = false;
    };
  };
  useEffect(() => {
    setPages([]);
    return read([]);
  }, [job, a, b]);
  const first = pages[0];
  const tensors = pages.flatMap((page) => page.tensors);
  return (
    <section class="panel scroll" tabIndex={0} role="region" aria-label="Tensors that differ">
      <div class="head">
        <h2>Tensors</h2>
        <span class="spacer" />
        {first && (
          <span class="soft small">
            {integer(first.differing)} of {integer(first.total)} tensors differ
          </span>
        )}
      </div>
      {error && <Failure error={error} retry={() => void read(pages, token ?? undefined)} />}
      {tensors.length > 0 && <Table tensors={tensors} />}
      {busy && <Loading />}
      {token && !busy && (
        <button onClick={() => void read(pages, token)}>
          Show more ({integer((first?.differing ?? 0) - tensors.length)})
        </button>
      )}
    </section>
  );
}
